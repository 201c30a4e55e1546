/**
 * The addresses of the console's pages: what stands behind `#`. Pure.
 *
 * - R1 Every text is an address, if only that of the page which says that there is nothing; `parse` never throws.
 * - R2 An address names a page and what it shows, and never who looks at it.
 */

/** What the list of threads is narrowed by. */
export interface ThreadFilter {
  readonly state?: string
  readonly text?: string
  readonly order?: "thread" | "activity"
  /** Words of the full-text search, which is asked instead of the list. */
  readonly words?: string
}

export type Route =
  | { readonly page: "owners" }
  | { readonly page: "owner"; readonly ownerId: string }
  | { readonly page: "threads"; readonly ownerId: string; readonly filter: ThreadFilter }
  | {
      readonly page: "thread"
      readonly ownerId: string
      readonly threadId: string
      readonly submissionId?: string
    }
  | { readonly page: "obligations"; readonly ownerId: string; readonly blocker?: string }
  | { readonly page: "faults"; readonly ownerId: string }
  | { readonly page: "fault"; readonly ownerId: string; readonly threadId: string }
  | { readonly page: "nowhere"; readonly address: string }

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part // R1
  }
}

const given = <K extends string>(key: K, value: string | null): { readonly [P in K]?: string } =>
  value === null || value === "" ? {} : ({ [key]: value } as { readonly [P in K]: string })

const filterOf = (query: URLSearchParams): ThreadFilter => {
  const order = query.get("order")
  return {
    ...given("state", query.get("state")),
    ...given("text", query.get("text")),
    ...given("words", query.get("words")),
    ...(order === "activity" || order === "thread" ? { order } : {}),
  }
}

/** Reads the part of an address that begins with `#`. */
export const parseRoute = (hash: string): Route => {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split("?", 2)
  const [root = "", owner = "", section, name, ...more] = path.split("/").map(decode)
  const query = new URLSearchParams(search)
  const nowhere: Route = { page: "nowhere", address: hash }
  if (root === "" || (root === "owners" && owner === "")) return { page: "owners" }
  if (root !== "owners" || more.length > 0) return nowhere
  const ownerId = owner
  if (section === undefined || section === "") return { page: "owner", ownerId }
  const isNamed = name !== undefined && name !== ""
  switch (section) {
    case "threads":
      return isNamed
        ? {
            page: "thread",
            ownerId,
            threadId: name,
            ...given("submissionId", query.get("submission")),
          }
        : { page: "threads", ownerId, filter: filterOf(query) }
    case "obligations":
      return isNamed
        ? nowhere
        : { page: "obligations", ownerId, ...given("blocker", query.get("blocker")) }
    case "faults":
      return isNamed ? { page: "fault", ownerId, threadId: name } : { page: "faults", ownerId }
    default:
      return nowhere
  }
}

const address = (
  parts: ReadonlyArray<string>,
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const told = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  )
  const search = told.length === 0 ? "" : `?${new URLSearchParams(told).toString()}`
  return `#/${parts.map(encodeURIComponent).join("/")}${search}`
}

/** Writes the address of a page, as links have it. // R2 */
export const hrefOf = (route: Route): string => {
  switch (route.page) {
    case "owners":
      return address(["owners"])
    case "owner":
      return address(["owners", route.ownerId])
    case "threads":
      return address(["owners", route.ownerId, "threads"], { ...route.filter })
    case "thread":
      return address(["owners", route.ownerId, "threads", route.threadId], {
        submission: route.submissionId,
      })
    case "obligations":
      return address(["owners", route.ownerId, "obligations"], { blocker: route.blocker })
    case "faults":
      return address(["owners", route.ownerId, "faults"])
    case "fault":
      return address(["owners", route.ownerId, "faults", route.threadId])
    case "nowhere":
      return route.address
  }
}

/** What the window is called, and what a screen reader says after a change of the page. */
export const titleOf = (route: Route): string => {
  switch (route.page) {
    case "owners":
      return "Owners"
    case "owner":
      return route.ownerId
    case "threads":
      return `Threads of ${route.ownerId}`
    case "thread":
      return `${route.threadId} of ${route.ownerId}`
    case "obligations":
      return `Obligations of ${route.ownerId}`
    case "faults":
      return `Faults of ${route.ownerId}`
    case "fault":
      return `Fault of ${route.threadId}`
    case "nowhere":
      return "Nothing here"
  }
}
