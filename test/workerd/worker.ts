/** The test Worker: exports the Durable Object classes that the workerd tests drive. */
export { StorageProbe } from "./storage-probe.ts"

export default {
  fetch: () => new Response("heddle test worker"),
} satisfies ExportedHandler
