/**
 * What a view set costs against a hand-written Koa + pg server on the atlas's data, or against the view sets of another
 * checkout. The same requests go to both, in turns; both must send the same bytes. Requests per second depend on the machine
 * and on what else runs there; ratios within one round, and the server's CPU time, say more.
 */
import type { LoadRequest } from 'autocannon'
import type { ClientConfig } from 'pg'
import { type Contender, load, type Sample, startContender, stopContender } from './contenders.js'
import { type Figure, figureOf } from './statistics.js'
import { clearWritten, plantRows, startAtlasData, WORKLOADS, type Workload } from './workloads.js'

/** One workload, and two contenders for it. A ratio above 1 is in favour of ours. */
export interface EndpointFigures {
  readonly name: string
  /** Ours over the other's, by rounds. */
  readonly requestsRatio: Figure
  /** The other's CPU time over ours, by rounds. */
  readonly cpuRatio: Figure
  readonly other: EndpointFigure
  readonly ours: EndpointFigure
}

export interface EndpointFigure {
  readonly requestsPerSecond: number
  /** Microseconds of the server's CPU for each request. */
  readonly cpu: number
}

export interface EndpointOptions {
  /** Those that count; one more comes before them to warm up. */
  readonly rounds: number
  /** For each turn of a contender. */
  readonly seconds: number
  /** Names of workloads; none for all of them. */
  readonly only?: readonly string[]
  /** Another checkout, built, whose view sets take the place of the hand-written server. */
  readonly before?: string
}

/** A workload, with the requests that each contender gets. */
interface Turn {
  readonly workload: Workload
  readonly requests: readonly (readonly LoadRequest[])[]
}

/** Measures all workloads in interleaved rounds. @throws Error the contenders answer differently */
export async function measureEndpoints(options: EndpointOptions): Promise<readonly EndpointFigures[]> {
  const postgres = await startAtlasData()
  const contenders: Contender[] = []
  try {
    const { before: root } = options
    contenders.push(await startContender(root ? 'ours' : 'handwritten', postgres.connection, root ? { root } : {}))
    contenders.push(await startContender('ours', postgres.connection))
    const turns: Turn[] = []
    for (const workload of chosen(options)) {
      const requests = await Promise.all(contenders.map(({ url }) => workload.requests(url)))
      const turn = { workload, requests }
      await expectEqual(contenders, turn, postgres.connection)
      turns.push(turn)
    }
    return await run(contenders, turns, postgres.connection, options)
  } finally {
    for (const contender of contenders) await stopContender(contender)
    await postgres.stop()
  }
}

function chosen({ only = [] }: EndpointOptions): readonly Workload[] {
  const unknown = only.find((name) => !WORKLOADS.some((workload) => workload.name === name))
  if (unknown !== undefined) {
    throw new Error(`There is no workload "${unknown}"; choose from ${WORKLOADS.map(({ name }) => name).join(', ')}`)
  }
  return only.length === 0 ? WORKLOADS : WORKLOADS.filter(({ name }) => only.includes(name))
}

async function expectEqual(contenders: readonly Contender[], turn: Turn, connection: ClientConfig): Promise<void> {
  const { compared = (text: string) => text, writes, name } = turn.workload
  const count = writes ? 1 : (turn.requests[0]?.length ?? 0)
  for (let index = 0; index < count; index++) {
    const answers: string[] = []
    const first = writes && prepared(turn.requests[0]?.[index])
    for (const [position, { url }] of contenders.entries()) {
      // what is created has the same body on both sides
      const request = turn.requests[position]?.[index]
      if (!request) throw new Error(`${name}: the contenders get different numbers of requests`)
      const { path, method = 'GET', headers = {}, body = null } = first ?? request
      if (writes) await plantRows(connection, turn.workload, 1)
      const answer = await fetch(url + path, { method, headers, body })
      answers.push(`${answer.status} ${compared(await answer.text())}`)
      if (writes) await clearWritten(connection)
    }
    if (new Set(answers).size > 1) throw new Error(`${name} is answered differently:\n${answers.join('\n')}`)
    if (!answers[0]?.startsWith('20')) throw new Error(`${name} is refused:\n${answers[0]}`)
  }
}

function prepared(request: LoadRequest | undefined): LoadRequest | undefined {
  return request?.setupRequest?.(request) ?? request
}

async function run(
  contenders: readonly Contender[],
  turns: readonly Turn[],
  connection: ClientConfig,
  { rounds, seconds }: EndpointOptions,
): Promise<readonly EndpointFigures[]> {
  const samples = turns.map(() => contenders.map((): Sample[] => []))
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { workload, requests }] of turns.entries()) {
      // each goes first every other round
      const order = [...contenders.entries()]
      if (round % 2 === 1) order.reverse()
      for (const [position, contender] of order) {
        if (workload.writes) await plantRows(connection, workload, seconds)
        const sample = await load(contender, requests[position] as readonly LoadRequest[], { seconds })
        if (workload.writes) await clearWritten(connection)
        if (round > 0) samples[index]?.[position]?.push(sample)
      }
    }
  }
  return turns.map(({ workload }, index) => compare(workload.name, samples[index] as Sample[][]))
}

function compare(name: string, [other = [], ours = []]: readonly Sample[][]): EndpointFigures {
  const ratios = ours.map((sample, round) => {
    const against = other[round] as Sample
    return { requests: sample.requestsPerSecond / against.requestsPerSecond, cpu: against.cpu / sample.cpu }
  })
  const each = (samples: readonly Sample[]): EndpointFigure => ({
    requestsPerSecond: figureOf(samples.map((sample) => sample.requestsPerSecond)).median,
    cpu: figureOf(samples.map((sample) => sample.cpu)).median,
  })
  return {
    name,
    requestsRatio: figureOf(ratios.map(({ requests }) => requests)),
    cpuRatio: figureOf(ratios.map(({ cpu }) => cpu)),
    other: each(other),
    ours: each(ours),
  }
}
