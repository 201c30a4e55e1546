/// <reference types="@cloudflare/vitest-plugin/types" />

/** The bindings of wrangler.toml in this folder. */
declare namespace Cloudflare {
  interface Env {
    ALARM_PROBE: DurableObjectNamespace<import("./alarm-probe.ts").AlarmProbe>
    EDGE_LIMITER: import("../../client/RateLimit.ts").RateLimiter
    EDGE_OWNER: DurableObjectNamespace<import("./edge-probe.ts").EdgeOwner>
    EDGE_THREAD: DurableObjectNamespace<import("./edge-probe.ts").EdgeThread>
    LOOM_BANK: DurableObjectNamespace<import("./loom-worker.ts").LoomBank>
    LOOM_QUEUE: import("../../client/sinks/QueueSink.ts").QueueProducer
    LOOM_OWNERS: DurableObjectNamespace<import("./loom-worker.ts").LoomOwner>
    LOOM_REGISTRY: DurableObjectNamespace<import("./loom-worker.ts").LoomRegistry>
    LOOM_THREADS: DurableObjectNamespace<import("./loom-worker.ts").LoomThread>
    STORAGE_PROBE: DurableObjectNamespace<import("./storage-probe.ts").StorageProbe>
    TRANSPORT_PROBE: DurableObjectNamespace<import("./transport-probe.ts").TransportProbe>
  }
}
