/**
 * What a digest wants of raw HTML inside Markdown: headings and link targets, as READMEs use them.
 *
 * No HTML parser: fragments are often unbalanced here (Markdown cuts them at blank lines). Every
 * repetition in a pattern is bounded or stops at the next `<`, so a hostile text costs linear time.
 */
const heading = /<h([1-6])(?:\s[^<>]{0,500})?>([\s\S]{0,400}?)<\/h\1\s*>/gi
const anchor = /<a\s[^<>]{0,500}?href\s{0,8}=\s{0,8}(?:"([^"<>]{0,2000})"|'([^'<>]{0,2000})')/gi
const tag = /<[^<>]{0,1000}>/g

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
}

const decoded = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity)

/** The headings written as `<h1>` to `<h6>`, without the tags inside them. */
export const htmlHeadings = (html: string): ReadonlyArray<{ depth: number; text: string }> =>
  [...html.matchAll(heading)].map(([, depth, inner]) => ({
    depth: Number(depth),
    text: decoded((inner ?? "").replace(tag, " "))
      .replace(/\s+/g, " ")
      .trim(),
  }))

/** The targets of `<a href>`; their texts are separate nodes of the tree, so they are left empty. */
export const htmlLinks = (html: string): ReadonlyArray<{ url: string; text: string }> =>
  [...html.matchAll(anchor)].map(([, double, single]) => ({
    url: decoded(double ?? single ?? "").trim(),
    text: "",
  }))
