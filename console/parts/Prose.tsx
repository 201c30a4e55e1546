/** A sentence of the product's, whose names stand between backticks. It may quote what strangers have written. */
import { straight } from "../lib/Format.ts"

export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {straight(text)
      .split(/(`[^`]*`)/)
      .map((part, index) =>
        part.length > 1 && part.startsWith("`") ? (
          <code key={index}>{part.slice(1, -1)}</code>
        ) : (
          <span key={index}>{part}</span>
        ),
      )}
  </>
)
