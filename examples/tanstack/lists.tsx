/** Travel lists: those that fit, as they change, a new one with the errors of its fields, and one that two people rename at once. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FieldErrors, Messages } from 'koa-viewsets/client'
import { type SubmitEventHandler, useEffect, useState } from 'react'
import { api, dataOf } from './api.js'

type Field = 'title' | 'notes'

export function Lists() {
  const queries = useQueryClient()
  useLive()
  const [part, setPart] = useState('')
  const lists = useQuery({
    queryKey: ['lists', part],
    queryFn: ({ signal }) => dataOf(api.lists.list(part ? { title__icontains: part } : {}, { signal })),
  })
  return (
    <section>
      <h2>Lists</h2>
      <input placeholder="Part of a title" value={part} onChange={(event) => setPart(event.target.value)} />
      {lists.error && <p role="alert">{lists.error.message}</p>}
      <ul>
        {lists.data?.results.map(({ id }) => (
          <List key={id} id={id} />
        ))}
      </ul>
      <NewList onMade={() => void queries.invalidateQueries({ queryKey: ['lists'] })} />
    </section>
  )
}

/** Reads lists again when somebody changes them: the stream says which, and not what. */
function useLive() {
  const queries = useQueryClient()
  useEffect(() => {
    const stop = new AbortController()
    const listen = async () => {
      for await (const { id } of api.lists.changes({ signal: stop.signal })) {
        void queries.invalidateQueries({ queryKey: ['lists'] })
        void queries.invalidateQueries({ queryKey: id === undefined ? ['list'] : ['list', id] })
      }
    }
    listen().catch(console.error)
    return () => stop.abort()
  }, [queries])
}

function NewList({ onMade }: { readonly onMade: () => void }) {
  const [errors, setErrors] = useState<FieldErrors<Record<Field, string>>>({})
  const create = useMutation({
    mutationFn: (data: Record<Field, string>) => api.lists.create(data),
    onSuccess: (result) => {
      setErrors(result.errors ?? {})
      if (result.ok) onMade()
    },
  })
  const send: SubmitEventHandler<HTMLFormElement> = (event) => {
    event.preventDefault()
    create.mutate(Object.fromEntries(new FormData(event.currentTarget)) as Record<Field, string>)
  }
  return (
    <form onSubmit={send}>
      {(['title', 'notes'] as const).map((field) => (
        <label key={field}>
          {field} <input name={field} /> <em data-field={field}>{messagesOf(errors[field])}</em>
        </label>
      ))}
      <button type="submit" disabled={create.isPending}>
        Create
      </button>
      {create.data?.ok === false && !create.data.errors.title && <p role="alert">{create.data.detail}</p>}
    </form>
  )
}

/** One list, with the version that it was read with. The new title is shown at once, and taken back if somebody was first. */
function List({ id }: { readonly id: string }) {
  const queries = useQueryClient()
  const queryKey = ['list', id]
  const { data } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const result = await api.lists.retrieve(id, {}, { signal })
      return { ...(await dataOf(Promise.resolve(result))), etag: result.ok ? result.etag : null }
    },
  })
  const rename = useMutation({
    mutationFn: (title: string) => api.lists.partialUpdate(id, { title }, { ifMatch: data?.etag ?? null }),
    onMutate: async (title) => {
      await queries.cancelQueries({ queryKey })
      const before = queries.getQueryData(queryKey)
      queries.setQueryData(queryKey, { ...data, title })
      return before
    },
    onSuccess: (result, _title, before) => {
      if (!result.ok) queries.setQueryData(queryKey, before)
    },
    onSettled: () => queries.invalidateQueries({ queryKey }),
  })
  if (!data) return null
  const failed = rename.data?.ok === false ? rename.data : undefined
  return (
    <li>
      <span>{data.title}</span>{' '}
      <button type="button" onClick={() => rename.mutate(`${data.title}!`)}>
        Louder
      </button>
      {failed && <em role="alert">{failed.kind === 'changed' ? 'Somebody else was first.' : failed.detail}</em>}
    </li>
  )
}

/** Messages of a field; those of fields within it would be shown beside them. */
function messagesOf(messages: Messages | undefined): string {
  return Array.isArray(messages) ? messages.join(' ') : ''
}
