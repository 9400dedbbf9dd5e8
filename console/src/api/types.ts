// The nouns of the API under short names.

import type { components, operations } from '@/api/schema';

type Schemas = components['schemas'];

export type BrowserSession = Schemas['BrowserSession'];
export type SettingsWarning = Schemas['WarningShown'];
export type Role = Schemas['Role'];
export type Execution = Schemas['ExecutionShown'];
export type ExecutionDetail = Schemas['ExecutionDetail'];
export type RelativesShown = Schemas['RelativesShown'];
export type ExecutionsPage = Schemas['ExecutionsPage'];
export type Why = Schemas['WhyShown'];
export type WhyStep = Schemas['StepShown'];
export type Status = Schemas['Status'];
export type LogLevel = Schemas['LogLevel'];
export type Group = Schemas['GroupShown'];
export type Job = Schemas['JobShown'];
export type JobBody = Schemas['JobBody'];
export type JobChange = Schemas['ChangeShown'];
export type JobStats = Schemas['JobStatsShown'];
export type BoardRow = Schemas['BoardRow'];
export type InUse = Schemas['InUseShown'];
export type ManyJobsDone = Schemas['ManyJobsDone'];
export type Taken = Schemas['Taken'];
export type TakenOne = Schemas['DefinitionShown'];
export type JobRun = Schemas['RunShown'];
export type ComingFire = Schemas['ComingFire'];
export type SchedulePreview = Schemas['SchedulePreview'];
export type RetryPolicy = Schemas['RetryPolicyBody'];
export type Stats = Schemas['StatsShown'];
export type Histogram = Schemas['HistogramShown'];
export type HistogramPart = Schemas['BucketShown'];
export type UpcomingJob = Schemas['UpcomingJob'];
export type Overview = Schemas['OverviewShown'];
export type Cluster = Schemas['ClusterShown'];
export type ClusterNode = Schemas['NodeShown'];
export type Term = Schemas['TermShown'];
export type Handoff = Schemas['HandoffShown'];
export type WaitingExecution = Schemas['WaitingShown'];
export type Executor = Schemas['ExecutorShown'];
export type Reach = Schemas['ReachShown'];
export type Unclaimed = Schemas['UnclaimedShown'];
export type Admission = Schemas['Admission'];
export type ExecutorKey = Schemas['ExecutorKeyShown'];
export type GroupDialect = Schemas['GroupDialect'];
export type Handler = Schemas['HandlerShown'];
export type Liveness = Schemas['Liveness'];
export type Reachability = Schemas['Reachability'];
export type NodeState = Schemas['StateShown'];
export type KeptProcess = Schemas['ProcessShown'];
export type ServiceStatus = Schemas['ServiceStatus'];
export type Orchestrator = Schemas['OrchestratorShown'];
export type Agent = Schemas['AgentShown'];
export type ManyDone = Schemas['ManyDone'];
export type Cause = NonNullable<
  NonNullable<operations['executions_api_v1_executions_get']['parameters']['query']>['cause']
>;
