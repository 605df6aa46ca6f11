/** Puts the page into the document. Start the atlas (`npm start`), then `npm start --workspace examples/tanstack`. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { isWorthAnotherTry } from './api.js'
import { Cities } from './cities.js'
import { Lists } from './lists.js'

const queries = new QueryClient({
  defaultOptions: { queries: { retry: (count, error) => count < 2 && isWorthAnotherTry(error) } },
})

createRoot(document.getElementById('page') as HTMLElement).render(
  <QueryClientProvider client={queries}>
    <Lists />
    <Cities />
  </QueryClientProvider>,
)
