/**
 * Owns what the pictures of this project's own charts need to know beyond the machines: how they are started, what
 * their tags mean, and which delays depend on what happened before.
 * Must not know any output format.
 */
import type { AnyStateMachine } from 'xstate';
import {
  ATTENDED_LIMITS,
  callMachine,
  RETRY_BASE_MS,
  RETRY_CAP_MS,
  RETRY_RATE_LIMITED_BASE_MS,
  recoveryMachine,
  turnMachine,
  UNATTENDED_LIMITS,
} from '../../machines/index.js';
import { callPathOptions, recoveryPathOptions, turnPathOptions } from '../testing/own-paths.js';
import type { PathOptions } from '../testing/paths.js';
import { durationText } from './delays.js';
import type { StatechartOptions } from './options.js';

export interface OwnChart {
  readonly machine: AnyStateMachine;
  readonly options: StatechartOptions;
  readonly paths: PathOptions;
}

const backOff =
  `${durationText(RETRY_BASE_MS)} × 2^n (rate limited: ${durationText(RETRY_RATE_LIMITED_BASE_MS)} × 2^n), ` +
  `at most ${durationText(RETRY_CAP_MS)}`;

export const OWN_CHARTS: Readonly<Record<'turn' | 'recovery' | 'call', OwnChart>> = {
  turn: {
    machine: turnMachine,
    options: {
      tags: {
        idle: 'waits for the model alone: the watchdog counts here and nowhere else',
        redone: 'a restart begins this work again',
      },
      variants: [
        { label: 'unattended', input: { turnId: '', limits: UNATTENDED_LIMITS } },
        { label: 'attended', input: { turnId: '', limits: ATTENDED_LIMITS } },
      ],
      delays: { backOff },
    },
    paths: turnPathOptions,
  },
  recovery: { machine: recoveryMachine, options: {}, paths: recoveryPathOptions },
  call: { machine: callMachine, options: {}, paths: callPathOptions },
};
