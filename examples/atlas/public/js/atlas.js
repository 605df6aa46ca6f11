/** Pages through the cities without loading the page anew, and tells each such navigation as `ajaxnav:afterRequest`. */
const PAGE_SIZE = 12
const byId = (id) => document.getElementById(id)
const number = new Intl.NumberFormat('en')

const countries = loadCountries()
let running

/** The state of the page is its address: `?page=` and `?search=`. */
function readAddress() {
  const given = new URLSearchParams(location.search)
  return { page: Math.max(1, Number.parseInt(given.get('page'), 10) || 1), search: given.get('search') ?? '' }
}

function addressOf({ page, search }) {
  const parameters = new URLSearchParams()
  if (page > 1) parameters.set('page', String(page))
  if (search) parameters.set('search', search)
  return parameters.size > 0 ? `/?${parameters}` : '/'
}

async function navigate(state, { keep = false } = {}) {
  if (!keep) history.pushState(null, '', addressOf(state))
  running?.abort()
  running = new AbortController()
  const { signal } = running
  byId('cities').setAttribute('aria-busy', 'true')
  try {
    const parameters = new URLSearchParams({ ordering: '-population', page: state.page, page_size: PAGE_SIZE })
    if (state.search) parameters.set('search', state.search)
    const response = await fetch(`/api/v1/cities?${parameters}`, { signal })
    if (!response.ok) throw new Error((await response.json()).detail)
    const page = await response.json()
    show(state, page, await countries)
    // what the version script listens to
    document.dispatchEvent(new CustomEvent('ajaxnav:afterRequest', { detail: { response } }))
  } catch (error) {
    if (signal.aborted) return
    show(state, { count: 0, results: [] }, new Map())
    byId('message').textContent = `The cities could not be loaded: ${error.message}`
  }
  byId('cities').removeAttribute('aria-busy')
}

function show(state, { count, next, previous, results }, names) {
  const first = (state.page - 1) * PAGE_SIZE + 1
  byId('count').textContent = `${number.format(count)} ${count === 1 ? 'city' : 'cities'}`
  byId('position').textContent = results.length > 0 ? `${first}–${first + results.length - 1}` : ''
  const largest = Math.max(1, ...results.map(({ population }) => population))
  byId('rows').replaceChildren(
    ...results.map((city, index) => row(city, { rank: first + index, largest, country: names.get(city.country_id) })),
  )
  byId('message').hidden = results.length > 0
  byId('message').textContent = 'No city matches.'
  link('previous', previous && { ...state, page: state.page - 1 })
  link('next', next && { ...state, page: state.page + 1 })
  byId('search').value = state.search
}

function row({ name, population }, { rank, largest, country }) {
  const meter = element('meter', { max: largest, value: population })
  const flag = element('span', { className: 'flag', textContent: country?.cca2 ?? '··' })
  return element('tr', {}, [
    element('td', { className: 'rank', textContent: number.format(rank) }),
    element('td', { className: 'name', textContent: name }),
    element('td', {}, [flag, element('span', { className: 'country', textContent: country?.name ?? '' })]),
    element('td', { className: 'number' }, [meter, number.format(population)]),
  ])
}

function element(tag, properties, children = []) {
  const created = Object.assign(document.createElement(tag), properties)
  created.append(...children)
  return created
}

function link(id, state) {
  const anchor = byId(id)
  anchor.setAttribute('aria-disabled', String(!state))
  if (state) anchor.href = addressOf(state)
}

/** All countries by id: the cities name theirs by that. */
async function loadCountries() {
  const found = new Map()
  for (let path = '/api/v1/countries?page_size=100'; path; ) {
    const { results, next } = await (await fetch(path)).json()
    for (const country of results) found.set(country.id, country)
    path = next
  }
  return found
}

for (const id of ['previous', 'next']) {
  byId(id).addEventListener('click', (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return
    event.preventDefault()
    const { page, search } = readAddress()
    void navigate({ page: page + (id === 'next' ? 1 : -1), search })
  })
}
let typing
byId('search').addEventListener('input', ({ target }) => {
  clearTimeout(typing)
  typing = setTimeout(() => void navigate({ page: 1, search: target.value.trim() }), 200)
})
byId('search').form.addEventListener('submit', (event) => event.preventDefault())
addEventListener('popstate', () => void navigate(readAddress(), { keep: true }))
void navigate(readAddress(), { keep: true })
