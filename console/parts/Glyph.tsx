/** A small sign for each condition: its shape says the same as its colour, for who does not see the colour. */
import type { ComponentChildren } from "preact"
import { wordsOf } from "../lib/Condition.ts"

const dot = <circle cx="6" cy="6" r="3.5" class="filled" />
const ring = <circle cx="6" cy="6" r="3.6" />

const shapes: Readonly<Record<string, ComponentChildren>> = {
  running: (
    <>
      <circle cx="6" cy="6" r="5" class="halo" />
      {dot}
    </>
  ),
  ready: ring,
  queued: <circle cx="6" cy="6" r="3.6" stroke-dasharray="2.2 1.6" />,
  suspended: (
    <>
      {ring}
      <path d="M6 2.4a3.6 3.6 0 0 1 0 7.2z" class="filled" />
    </>
  ),
  faulted: <path d="M6 1.6 11 10.4H1z" class="filled" />,
  unknown: <path d="M6 1.2 10.8 6 6 10.8 1.2 6z" class="filled" />,
  paused: <path d="M4 2.5v7M8 2.5v7" class="thick" />,
  condemned: <path d="M2 6h8" class="thick" />,
  idle: <circle cx="6" cy="6" r="1.6" class="filled" />,
  completed: <path d="M2.2 6.4 4.8 9l5-6" />,
  failed: <path d="m2.8 2.8 6.4 6.4m0-6.4L2.8 9.2" />,
  aborted: (
    <>
      {ring}
      <path d="m3.6 8.4 4.8-4.8" />
    </>
  ),
  joined: <path d="M2 3h3l3 3h3M2 9h3l3-3" />,
}

export const Glyph = ({ condition }: { readonly condition: string }) => (
  <svg class={`glyph tone-${condition}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden>
    {shapes[condition] ?? ring}
  </svg>
)

/** The sign with its word. */
export const Chip = ({ condition }: { readonly condition: string }) => (
  <span class={`chip tone-${condition}`}>
    <Glyph condition={condition} />
    {wordsOf(condition).label}
  </span>
)
