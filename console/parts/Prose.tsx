/** A sentence of the product's, whose names stand between backticks. */

export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {text
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
