/** The cases of json-patch-test-suite that are enabled. */
import SPEC from 'json-patch-test-suite/spec_tests.json' with { type: 'json' }
import TESTS from 'json-patch-test-suite/tests.json' with { type: 'json' }

export interface PatchCase {
  readonly name: string
  readonly doc: unknown
  readonly patch: readonly Readonly<Record<string, unknown>>[]
  /** Undefined where the case says nothing but that it works, or that it fails. */
  readonly expected: unknown
  readonly fails: boolean
}

interface GivenCase extends Omit<PatchCase, 'name' | 'fails'> {
  readonly comment?: string
  readonly error?: string
  readonly disabled?: boolean
}

const FILES: Readonly<Record<string, readonly unknown[]>> = { spec_tests: SPEC, tests: TESTS }

export const PATCH_CASES: readonly PatchCase[] = Object.entries(FILES).flatMap(([file, cases]) =>
  (cases as readonly GivenCase[]).flatMap((one, index) => {
    if (one.disabled || !Array.isArray(one.patch)) return []
    const name = `${file} ${index}: ${one.comment ?? one.error ?? JSON.stringify(one.patch)}`
    return [{ ...one, name, fails: one.error !== undefined }]
  }),
)
