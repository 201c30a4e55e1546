/** The test Worker: exports the Durable Object classes that the workerd tests drive. */
export { AlarmProbe } from "./alarm-probe.ts"
import { providedFetch } from "./edge-provider.ts"

export { BrokenApi, EdgeApi, EdgeOwner, EdgeThread, LimitedApi } from "./edge-probe.ts"
import { loomScheduled } from "./loom-worker.ts"
import { consume } from "./loom-sink.ts"

export {
  LoomApi,
  LoomBank,
  LoomOwner,
  LoomRegistry,
  LoomThread,
  LoomTracedApi,
} from "./loom-worker.ts"
export { StorageProbe } from "./storage-probe.ts"
export { TransportProbe } from "./transport-probe.ts"

export default {
  fetch: providedFetch,
  scheduled: loomScheduled,
  queue: consume,
} satisfies ExportedHandler<Cloudflare.Env>
