/** What callgate prints as JSON. A member may be added in any release; what is here stays. */

/** Where the program is. */
export const program: string;

/** A point in time, UTC: "2026-01-31T12:00:00.000Z". */
export type Time = string;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Tier = "operator" | "admin" | "user" | "workspace" | "default";
export type Effect = "auto_approve" | "deny" | "require_approval";
export type Scope = "session" | "call" | "once";

/** A call, as `eval`, `explain` and `journal show --calls` have it: one JSON object a line. */
export interface Call {
  tool: string;
  input?: { [key: string]: Json };
  server?: string;
  sessionKey?: { channel: string; thread: string };
  actor?: "claude_process" | "session_owner";
}

/** `eval`: one a line. Let a call run only if kind is "allow", never because it is not "deny". */
export type Decision =
  | { kind: "allow"; rule?: string; explain?: Explanation }
  | { kind: "deny"; rule: string; reason: string; tell?: string; explain?: Explanation }
  | { kind: "require"; rule: string; approver: "human_approver"; ttlMs: number; approvers: number; scope?: Scope;
      tell?: string; explain?: Explanation };

/** `explain --format json`: one a line; `eval --explain`: the member "explain". */
export interface Explanation {
  decision: Decision;
  /** The reading that decided, as an index of readings. */
  reading: number;
  readings: Reading[];
}

export interface Reading {
  kind: "path" | "no-path" | (string & {});
  tool: string;
  server?: string;
  from?: string;
  path?: string | null;
  read?: string;
  via?: string;
  dotdot?: string;
  start?: string;
  command?: string;
  unreadable?: string;
  unreadableAt?: number;
  open?: true;
  assigned?: true;
  places?: string[];
  placesKnown?: false;
  hosts?: string[];
  hostsKnown?: false;
  span?: string;
  host?: string | null;
  hostFrom?: string;
  hostUnreadable?: true;
  /** Read beside the input: only rules that deny or ask look at it. */
  aside?: true;
  rules: RuleLooked[];
  decision: Decision;
}

/** A rule that was looked at, and the first field that did not match. */
export interface RuleLooked {
  rule: string;
  file: string;
  line: number;
  tier: Tier;
  effect: Effect;
  matched: boolean;
  field?: string;
  argument?: string;
  wanted?: Json;
  got?: Json;
  absent?: true;
  stopped?: true;
  noted?: true;
  bare?: true;
}

/** `check --format json`. */
export interface CheckReport {
  ok: boolean;
  rules: number;
  errors: PolicyError[];
  warnings: PolicyWarning[];
  /** With --witness: a call that each rule decides. */
  witnesses?: { rule: string; call: Call | null; by?: string }[];
  requireAuthoredPolicy?: string[];
}
export interface PolicyError {
  code: string;
  file: string;
  line?: number;
  column?: number;
  pointer?: string;
  rule?: string;
  message: string;
}
export interface PolicyWarning {
  kind: string;
  file: string;
  line?: number;
  column?: number;
  pointer?: string;
  rule?: string;
  earlier?: string;
  later?: string;
  crossTier?: boolean;
  message: string;
}

/** `diff --format json`. */
export interface Difference {
  violations: { newRule: string | RuleSide; existingDeny: string | RuleSide; message: string }[];
  classes: DifferenceClass[];
  unreadable: Json[];
  digests: { old: string; new: string };
  notes?: string[];
}
export interface RuleSide { kind: Decision["kind"]; rule?: string | null; file?: string; line?: number }
export interface DifferenceClass {
  weaker: boolean;
  from: RuleSide;
  to: RuleSide;
  match: { [key: string]: Json };
  except?: Json;
  witness?: Call | null;
  list?: string;
  name?: string;
  added?: boolean;
  aside?: true;
  fromAt?: { file: string; line: number };
  toAt?: { file: string; line: number };
}

/** `assert --format json`: one a line. */
export interface Assertion {
  name: string;
  result: "proved" | "refuted" | (string & {});
  call?: Call;
  kind?: Decision["kind"];
  rule?: string;
  notes?: string[];
}

/** `pending --format json`. */
export type Pending = PendingRequest[];
export interface PendingRequest {
  code: string;
  rule: string;
  tool: string;
  server?: string;
  input: Json;
  paths?: string[];
  channel: string;
  thread: string;
  scope: Scope;
  /** How many people must approve, and how many have. */
  needed: number;
  given: number;
  expires: Time;
}

/** `approvals --format json`. */
export type Approvals = Approval[];
export interface Approval {
  id: number | string;
  rule: string;
  channel: string;
  thread: string;
  scope: Scope;
  callHash?: string | null;
  granted: Time;
  expires: Time;
}

/** `status --format json`. */
export interface Status {
  gates: Gate[];
  waiting: number;
  places: PolicyFile[];
  /** An event that was written and that the journal does not hold any more. */
  gap?: { hash: string; seq: number };
  /** The broker that was started last. */
  broker: Broker | null;
  /** Hooks and gates that only observe. */
  observing: Json[];
}
/** `callgate serve`: its policies stand among the gates, as the surface `serve`. */
export interface Broker {
  pid: number;
  protocol: number;
  started: Time;
  version: string;
  socket: string;
  /** The words of its command line. */
  words: string[];
  running: boolean;
  listens: boolean;
}
export interface Gate {
  pid: number;
  surface: string;
  server?: string;
  started: Time;
  reloads: number;
  observing: boolean;
  policy: PolicyInUse | null;
  refused: Json;
}
export interface PolicyInUse {
  digest: string;
  generation: number;
  loaded: Time;
  rules: number;
  warnings: number;
  files: PolicyFile[];
}
export interface PolicyFile { file: string; rules: number; state: string; tier: Tier }

/** `stats --format json`. */
export type Stats = { rule: string | null; allow: number; deny: number; require: number; last: Time }[];

/** `replay --format json`: one a line. */
export interface Replayed {
  seq: number;
  ts: Time;
  tool: string;
  from: Decision["kind"] | RuleSide;
  to: Decision["kind"] | RuleSide;
  weaker: boolean;
  exact: boolean;
}

/** `journal show --format json`: one a line, as it stands in the journal. */
export interface JournalEvent {
  v: 1;
  seq: number;
  ts: Time;
  kind: string;
  hash: string;
  prevHash: string;
  actor?: string;
  callHash?: string;
  correlationId?: string;
  detail?: { [key: string]: Json };
  input?: Json;
  outcome?: "allow" | "deny" | "require" | (string & {});
  paths?: string[];
  reason?: string;
  ruleId?: string;
  server?: string;
  sessionKey?: { channel: string; thread: string };
  toolName?: string;
}
