/**
 * The host lanes of an object's deployment, what the object remembers of them, and what it shows.
 */
import { type Context, Layer, Semaphore } from "effect"
import type { HostLaneStatus } from "../contracts/Maintenance.ts"
import type { HostLane } from "./HostLane.ts"
import { hostDueAt, type HostRow, newHost } from "./HostRow.ts"
import type { MaintenanceRow } from "./Maintenance.ts"

/** What of a life the host lanes need. */
interface WithHosts {
  readonly hosts: Hosts
  readonly version: number
}

export interface Hosts {
  readonly lanes: ReadonlyArray<HostLane<never>>
  readonly services: Layer.Layer<never>
  readonly codeVersion: string
  /** The lanes of which a wave goes on; an object's, since a wave may outlive the life that began it. */
  readonly waves: Set<string>
  /** How many waves of each lane have ended. */
  readonly ends: Map<string, number>
  readonly building: Semaphore.Semaphore
  /** The services, once they are built. */
  context: Context.Context<never> | undefined
  /** Whether deadlines are being asked for; `again` while somebody wants them asked who came since. */
  reading: "no" | "once" | "again"
}

export const makeHosts = (
  codeVersion: string,
  lanes: ReadonlyArray<HostLane<never>> = [],
  services: Layer.Layer<never> = Layer.empty,
): Hosts => ({
  lanes,
  services,
  codeVersion,
  waves: new Set(),
  ends: new Map(),
  building: Semaphore.makeUnsafe(1),
  context: undefined,
  reading: "no",
})

export const hostRowOf = (
  { hostLanes }: Pick<MaintenanceRow, "hostLanes">,
  name: string,
): HostRow => (Object.hasOwn(hostLanes, name) ? hostLanes[name] : undefined) ?? newHost

/** When the first wave of all lanes is due; undefined for none. */
export const hostsDueAt = (
  { hosts, version }: WithHosts,
  maintenance: Pick<MaintenanceRow, "hostLanes">,
): number | undefined => {
  if (version === 0) return undefined
  const first = hosts.lanes.reduce(
    (at, { name }) =>
      Math.min(at, hostDueAt(hostRowOf(maintenance, name), hosts.codeVersion) ?? Infinity),
    Infinity,
  )
  return first === Infinity ? undefined : first
}

/**
 * When an object must look at them: for the first wave; and where its life ends while the application is asked when it
 * wants one, to ask again.
 */
export const hostsLookAt = (
  life: WithHosts,
  maintenance: Pick<MaintenanceRow, "hostLanes">,
  { hostReadMillis, now }: { readonly hostReadMillis: number; readonly now: number },
): number | undefined => {
  const dueAt = hostsDueAt(life, maintenance)
  const askAt = life.hosts.reading === "no" ? undefined : now + 2 * hostReadMillis
  return dueAt === undefined || askAt === undefined ? (dueAt ?? askAt) : Math.min(dueAt, askAt)
}

/** What `maintenanceStatus` tells of them. */
export const hostStatus = (
  { codeVersion, lanes, waves }: Hosts,
  maintenance: Pick<MaintenanceRow, "hostLanes">,
): ReadonlyArray<HostLaneStatus> =>
  lanes.map(({ name }) => {
    const row = hostRowOf(maintenance, name)
    const nextAt = hostDueAt(row, codeVersion)
    const running = waves.has(name)
    const waiting = nextAt === undefined ? "idle" : "waiting"
    const stopped = row.stopped === codeVersion
    return {
      name,
      state: stopped ? "stopped" : running ? "running" : waiting,
      ...(nextAt === undefined ? {} : { nextAt }),
      // The one under way is charged already.
      failures: Math.max(0, row.failures - (running ? 1 : 0)),
      ...(stopped ? { stopped: codeVersion } : {}),
    }
  })
