/**
 * Owns what the processes of the demo say to each other over their IPC channels.
 * Must not know who prints it or what is done with it.
 */
import type { Approval, DecisionResult, TurnEvent, TurnRest } from '../../index.js';
import type { AskedCall, Live } from './story.js';

export interface ReceiverAddress {
  readonly url: string;
  /** Whoever has it may post; it is new for every round. */
  readonly token: string;
}

/** One effect as the receiver wrote it down. */
export interface Landed {
  readonly key: string;
  readonly to: string;
  readonly text: string;
  /** The call it came from: for the picture only, the receiver does not look at it. */
  readonly callId: string;
}

export type ToReceiver = { readonly type: 'start'; readonly file: string; readonly token: string };

export type FromReceiver =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'landed'; readonly landed: Landed };

export interface StartService {
  readonly type: 'start';
  /** The folder of the round: it holds the store and the project. */
  readonly folder: string;
  readonly receiver: ReceiverAddress;
  readonly live: Live | null;
}

/** What a person says about a call that waits for them. */
export interface Decide {
  readonly type: 'decide';
  readonly id: string;
  readonly allow: boolean;
  readonly by: string;
  readonly reason: string;
}

export type ToService = StartService | Decide;

export type FromService =
  | { readonly type: 'up' }
  | { readonly type: 'event'; readonly event: TurnEvent }
  | {
      readonly type: 'recovered';
      readonly resumed: number;
      readonly held: number;
      readonly parked: number;
      readonly abandoned: number;
    }
  | { readonly type: 'accepted'; readonly accepted: 'started' | 'queued' | 'duplicate' }
  | {
      readonly type: 'parked';
      /** Another process parked it; this one found it so. */
      readonly found: boolean;
      /** Spent on its recovery so far. */
      readonly attempts: number;
      /** The calls that wait for a person. */
      readonly approvals: readonly Approval[];
    }
  | { readonly type: 'decided'; readonly id: string; readonly result: DecisionResult }
  /** What the transcript says was asked for, when the turn has ended. */
  | { readonly type: 'calls'; readonly calls: readonly AskedCall[] }
  | { readonly type: 'rest'; readonly rest: TurnRest };

/** What the tools of the demo report as progress: for people who watch, never for the verdict. */
export type Reported = { readonly landed: true } | { readonly reconcile: string };
