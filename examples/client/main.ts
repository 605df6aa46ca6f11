/**
 * Asks the atlas for the largest cities of a country, and meets an error. Start the atlas (`npm start`), then in another
 * terminal `npm run generate --workspace examples/client` and `npm start --workspace examples/client`.
 */
import { createAtlasClient } from './client.js'

const atlas = createAtlasClient(process.argv[2] ?? 'http://127.0.0.1:3000')

const { data: cities } = await atlas.GET('/api/v1/cities', {
  params: {
    query: { country__name: 'Peru', population__gte: 1_000_000, ordering: ['-population', 'name'], page_size: 3 },
  },
})
console.log(`${cities?.count} cities of Peru have a million inhabitants and more:`)
for (const { name, population } of cities?.results ?? []) console.log(`  ${name}: ${population}`)

const { response, error } = await atlas.POST('/api/v1/cities', {
  body: { name: 'Atlantis', geoname_id: -1, country_id: 0, latitude: 'here', longitude: '-24.25' },
})
console.log(`Atlantis: ${response.status} ${error?.detail}`)
if (error && 'errors' in error) {
  for (const [field, messages] of Object.entries(error.errors ?? {})) console.log(`  ${field}:`, messages)
}
