/**
 * The unit tests that run in a process of their own: they take over what a process has once (its timers, its clock, its
 * console), and so would see, and hold up, what other tests leave running.
 */
export const alone: ReadonlyArray<string> = [
  "test/unit/authorizer/authorizer.test.ts",
  "test/unit/client/{Http,console}.test.ts",
  "test/unit/console/{clock,lanes,live,notice,owner,pages,places,thread}.test.ts",
  "test/unit/loom/{away,restored}.test.ts",
  "test/unit/observability/{JsonLog,Otlp}.test.ts",
  "test/unit/owner/{clock-ahead,damage,deliver,directory,early-alarm,entry,faults,logs,missing-tool}.test.ts",
  "test/unit/owner/{pass-told,peers,publication,stays,unseen,wakes}.test.ts",
  "test/unit/sdk/{calls,http,streams}.test.ts",
  "test/unit/testing/TestDeployment.test.ts",
  "test/unit/thread/logs.test.ts",
]
