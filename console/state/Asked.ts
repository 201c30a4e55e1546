/** The command that somebody is about to give: at most one, over whatever page it was asked for on. */
import { signal } from "@preact/signals"
import type { Command } from "../lib/Commands.ts"

export interface Asked {
  readonly ownerId: string
  readonly command: Command
  /** Called once it was done. */
  readonly done: () => void
}

export const asked = signal<Asked | undefined>(undefined)
