/**
 * Words too common in English documents, and in READMEs of software, to tell what one is about.
 * Lower case. Those of fewer than three letters need no entry: they never count.
 */
const english = `
a about above after again against all almost also although always among and another any anything are
aren't around because been before being below best better between both but can can't cannot could
couldn't did didn't different does doesn't doing don't done down during each easily easy either else
enough etc even every everything example examples few first following follows for found from full
further get gets getting give given goes going good great had has hasn't have haven't having her here
hers him his how however i'm if in instead into is isn't it's its itself just keep know last later
least less let let's like likely little long look lot made make makes making many may maybe me might
more most much must my need needed needs never new next nor not nothing now of off often on once one
only onto or other others our out over own part perhaps please possible put quite rather really right
same say see seems set several shall she should shouldn't simply since some someone something still
such sure take takes than that that's the their them themselves then there therefore these they thing
things this those though through thus to together too try two under unless until up upon us use used
useful user uses using usually value values very via want wants was wasn't way we well were weren't
what when where whether which while who whole whose why will with within without won't would wouldn't
yes yet you you'll you're your yours
`
const software = `
true false null undefined default defaults http https www com org html github npm readme md
`

export const stopWords: ReadonlySet<string> = new Set(`${english} ${software}`.trim().split(/\s+/))
