/** How a violation is told: the invariant's name in the design, and what was seen. */
export type Violate = (invariant: string, detail: string) => void
