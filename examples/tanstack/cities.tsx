/** The cities of a country, page after page by cursor: an infinite list with a filter. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, dataOf } from './api.js'

export function Cities() {
  const [country, setCountry] = useState('')
  const { data, error, fetchNextPage, hasNextPage } = useInfiniteQuery({
    queryKey: ['cities', country],
    queryFn: ({ pageParam, signal }) =>
      dataOf(
        pageParam === null
          ? api['city-feed'].list(country ? { country__name: country, page_size: 3 } : { page_size: 3 }, { signal })
          : api['city-feed'].follow(pageParam, { signal }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
  const cities = data?.pages.flatMap((page) => page.results) ?? []
  return (
    <section>
      <h2>Cities</h2>
      <input placeholder="Country" value={country} onChange={(event) => setCountry(event.target.value)} />
      {error && <p role="alert">{error.message}</p>}
      <ol>
        {cities.map(({ id, name, population }) => (
          <li key={id}>
            {name}: {population}
          </li>
        ))}
      </ol>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More
        </button>
      )}
    </section>
  )
}
