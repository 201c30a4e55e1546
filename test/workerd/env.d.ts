/// <reference types="@cloudflare/vitest-plugin/types" />

/** The bindings of wrangler.toml in this folder. */
declare namespace Cloudflare {
  interface Env {
    ALARM_PROBE: DurableObjectNamespace<import("./alarm-probe.ts").AlarmProbe>
    STORAGE_PROBE: DurableObjectNamespace<import("./storage-probe.ts").StorageProbe>
  }
}
