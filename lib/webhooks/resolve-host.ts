/** The addresses of a host, by DNS. */
import dns from 'node:dns'

/**
 * Asks the name servers of the system, or those of `dns.setServers()`. It is not `dns.lookup()`, which nobody can end: it
 * occupies one of the few threads of the process, and slow name servers of some receivers would keep files and other names
 * from being read. So names of `/etc/hosts` are not known, but `localhost` is (RFC 6761 section 6.3), and no search domain is
 * appended.
 */
export async function resolveHost(host: string, signal: AbortSignal): Promise<readonly string[]> {
  if (/^(?:.+\.)?localhost\.?$/.test(host)) return ['127.0.0.1', '::1']
  const resolver = new dns.promises.Resolver()
  // by the module: setServers() replaces its functions, and imported ones would know the old servers
  resolver.setServers(dns.getServers())
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    // one of the families is enough; both errors are alike where the host does not exist
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
    return [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
