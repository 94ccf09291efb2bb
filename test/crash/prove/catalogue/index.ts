// The scenarios whose every crash point is tried, alone and in pairs. Each is small: what it adds to the others is one
// thing that can be under way when the process dies.
import type { Scenario } from '../scenario.js';
import { callScenarios } from './calls.js';
import { listScenarios } from './lists.js';
import { trafficScenarios } from './traffic.js';
import { turnScenarios } from './turns.js';

export const catalogue: readonly Scenario[] = [
  ...callScenarios,
  ...turnScenarios,
  ...listScenarios,
  ...trafficScenarios,
];
