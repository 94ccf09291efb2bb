/**
 * Owns the entry point `durable-turn`: what a service imports, and nothing else.
 * Must not hold code.
 */
export {
  ATTENDED_LIMITS,
  type Effect,
  type Limits,
  type ModelErrorKind,
  type ModelFault,
  type RecoveryPolicy,
  type TurnMachine,
  turnMachine,
  UNATTENDED_LIMITS,
} from '../machines/index.js';
export type { DecisionResult } from './core/batch.js';
export type { Migrate } from './core/checkpoint.js';
export type { Compacted } from './core/compaction.js';
export { describeTools, type ToolDescription } from './core/describe-tools.js';
export {
  DefinitiveFailure,
  HardIdleTimeout,
  ModelError,
  OutcomeUnknown,
  TurnError,
  type TurnErrorCode,
} from './core/errors.js';
export type {
  Approval,
  FollowEvent,
  PartialAnswer,
  Review,
  SessionEvents,
  SessionView,
  TurnEvent,
  TurnOutcome,
  TurnRest,
} from './core/events.js';
export type { Json } from './core/json.js';
export { type CallTrace, detectLoop, type LoopDetector, type LoopVerdict } from './core/loop-detector.js';
export type {
  AnswerFacts,
  ApprovalRequestPart,
  ApprovalResponsePart,
  AssistantMessage,
  AssistantPart,
  CustomPart,
  FileData,
  FilePart,
  FinishReason,
  Message,
  MessageMeta,
  ProviderOptions,
  ReasoningFilePart,
  ReasoningPart,
  StoredMessage,
  SystemMessage,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
  Usage,
  UserMessage,
  UserPart,
} from './core/messages.js';
export type {
  AnswerPart,
  Model,
  ModelAnswer,
  ModelCall,
  ModelDelta,
  ModelRequest,
  ModelSettings,
  ToolChoice,
  ToolSpec,
} from './core/model.js';
export type {
  BackupProgress,
  Clock,
  Commit,
  DamagedSession,
  Ids,
  Lease,
  SessionRecords,
  TranscriptWrite,
  TurnStore,
} from './core/ports.js';
export type {
  ApprovalRecord,
  CallRecord,
  CallState,
  Checkpoint,
  DoubtCause,
  Ended,
  Grant,
  Head,
  InboxRecord,
  Marker,
  OutcomeRecord,
  OutcomeStatus,
  Phase,
  ReviewRecord,
  SeenRecord,
  Waiting,
} from './core/records.js';
export {
  type ApprovalVerdict,
  type CallInDoubt,
  jsonSchema,
  reportToModel,
  type Schema,
  type Settlement,
  type Tool,
  type ToolContext,
  type ToolSet,
  tool,
  toolFor,
} from './core/tools.js';
export { repairTranscript } from './core/transcript.js';
export type { ApprovalDecision } from './engine/approvals.js';
export { type Compactor, type CompactorCall, summarise } from './engine/compactor.js';
export { createTurnEngine } from './engine/engine.js';
export type { FollowOptions } from './engine/follow.js';
export type { Accepted, Input } from './engine/input.js';
export type { CallPlan, EngineOptions, TurnInfo } from './engine/options.js';
export type { SettleBy } from './engine/people.js';
export type { RecoveryReport } from './engine/recovery.js';
export type { InterruptedTurn, RecoverOptions, Session, TurnEngine } from './engine/turn-engine.js';
export type { CancelOptions, Turn } from './engine/turn-handles.js';
