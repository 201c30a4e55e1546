/// <reference types="@cloudflare/vitest-plugin/types" />

/** The bindings of wrangler.toml in this folder. */
declare namespace Cloudflare {
  interface Env {
    STORAGE_PROBE: DurableObjectNamespace<import("./storage-probe.ts").StorageProbe>
  }
}
