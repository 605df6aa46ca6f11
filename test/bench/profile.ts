/** Where the CPU time of a request goes: profiles of our server under load, summed by steps of the pipeline. */
import type { Profiler } from 'node:inspector'
import { ask, type Contender, load, startContender, stopContender } from './contenders.js'
import { stepOf } from './pipeline.js'
import { clearWritten, startAtlasData, WORKLOADS } from './workloads.js'

/** The profile of one workload. */
export interface WorkloadProfile {
  readonly name: string
  /** Microseconds of the server's CPU for each request, measured while no profile was taken. */
  readonly cpu: number
  /** How the microseconds spread over the steps. */
  readonly steps: Readonly<Record<string, number>>
  /** Who has called whom, with the time that each took. Idle time is left out. */
  readonly root: Frame
}

/** A function as it was called from the frames above it. */
export interface Frame {
  readonly name: string
  readonly step: string
  /** Microseconds for each request, those of the functions it called included. */
  total: number
  readonly children: Frame[]
}

export interface ProfileOptions {
  /** How long the load lasts, with the profiler and without. */
  readonly seconds: number
}

const PROFILED = ['list of 25', 'one city', 'list of 25, nested', 'create']

/** Profiles list, retrieve, nested list and create. */
export async function measureProfiles({ seconds }: ProfileOptions): Promise<readonly WorkloadProfile[]> {
  const postgres = await startAtlasData()
  const contender = await startContender('ours', postgres.connection)
  try {
    const profiles: WorkloadProfile[] = []
    for (const workload of WORKLOADS.filter(({ name }) => PROFILED.includes(name))) {
      const requests = await workload.requests(contender.url)
      await load(contender, requests, { seconds: 1 })
      const { cpu } = await load(contender, requests, { seconds })
      const profile = await profileOf(contender, () => load(contender, requests, { seconds }))
      if (workload.writes) await clearWritten(postgres.connection)
      profiles.push(toWorkloadProfile(workload.name, cpu, profile))
    }
    return profiles
  } finally {
    await stopContender(contender)
    await postgres.stop()
  }
}

async function profileOf(contender: Contender, work: () => Promise<unknown>): Promise<Profiler.Profile> {
  await ask(contender, 'start profile')
  await work()
  return ask(contender, 'stop profile')
}

/** The profiler slows the server down, so its samples say only how the measured time is spread. */
function toWorkloadProfile(name: string, cpu: number, profile: Profiler.Profile): WorkloadProfile {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const spent = timeByNode(profile)
  const childrenOf = ({ children = [] }: Profiler.ProfileNode) =>
    children.map((id) => nodes.get(id) as Profiler.ProfileNode).filter(isWork)
  const timeOf = (node: Profiler.ProfileNode): number =>
    childrenOf(node).reduce((sum, child) => sum + timeOf(child), spent.get(node.id) ?? 0)
  const [top] = profile.nodes
  if (!top) throw new Error(`${name}: the profile is empty`)
  const scale = cpu / timeOf(top)
  const steps: Record<string, number> = {}
  const build = (node: Profiler.ProfileNode, caller: string | undefined): Frame => {
    const step = stepOf(node.callFrame, caller)
    const own = (spent.get(node.id) ?? 0) * scale
    steps[step] = (steps[step] ?? 0) + own
    const children = childrenOf(node).map((child) => build(child, step))
    const total = children.reduce((sum, child) => sum + child.total, own)
    return { name: nameOf(node), step, total, children: merge(children) }
  }
  return { name, cpu, steps, root: build(top, undefined) }
}

/** False for waiting, and for the profiler itself. */
function isWork(node: Profiler.ProfileNode): boolean {
  return nameOf(node) !== '(idle)' && !node.callFrame.url.startsWith('node:inspector')
}

/** Microseconds at the top of the stack, by node. */
function timeByNode({ samples = [], timeDeltas = [] }: Profiler.Profile): Map<number, number> {
  const spent = new Map<number, number>()
  for (const [index, id] of samples.entries()) {
    // a sample stands for the time until the next one
    spent.set(id, (spent.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0))
  }
  return spent
}

/** V8 tells calls of one function from different lines apart; we do not. */
function merge(frames: readonly Frame[]): Frame[] {
  const merged = new Map<string, Frame>()
  for (const frame of frames) {
    const key = `${frame.step} ${frame.name}`
    const same = merged.get(key)
    if (!same) {
      merged.set(key, frame)
      continue
    }
    const children = merge([...same.children, ...frame.children])
    merged.set(key, { ...same, total: same.total + frame.total, children })
  }
  return [...merged.values()]
}

function nameOf(node: Profiler.ProfileNode): string {
  return node.callFrame.functionName || '(anonymous)'
}
