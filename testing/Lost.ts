/** What owners have lost, and nobody has reconciled yet: themselves, or the lanes of threads. */

/** How often, and the agents of which the rows told that an attempt may run. */
export interface Lost {
  readonly times: number
  readonly agents: ReadonlyArray<string>
}

type All = Map<string, Lost>

export const lose = (all: All, name: string, agents: ReadonlyArray<string>): void => {
  const { agents: before, times } = all.get(name) ?? { agents: [], times: 0 }
  all.set(name, { times: times + 1, agents: [...before, ...agents] })
}

/** What was lost twice is there again once it was reconciled twice. */
export const find = (all: All, name: string): void => {
  const lost = all.get(name)
  if (lost !== undefined && lost.times > 1) all.set(name, { ...lost, times: lost.times - 1 })
  else all.delete(name)
}
