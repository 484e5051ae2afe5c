import { domainOf } from '../servers/imap-presets.ts';
import { type ProbedServer, type ProbeOptions, probeServer } from '../servers/server-probe.ts';
import { type Found, type FoundServer, isWithin } from './found.ts';
import type { MailDns } from './mail-dns.ts';

/** Resolves to true if the server can be reached and has a valid certificate for its name. */
export type Probe = (server: ProbedServer) => Promise<boolean>;

type Guess = ProbedServer & { security: 'tls' | 'starttls' };

function guesses(domain: string): Guess[] {
  const make = (
    protocol: 'imap' | 'smtp',
    name: string,
    port: number,
    security: 'tls' | 'starttls',
  ) => ({
    protocol,
    host: name === '' ? domain : `${name}.${domain}`,
    port,
    security,
  });
  const all = [
    ...['imap', 'mail', ''].map((name) => make('imap', name, 993, 'tls')),
    ...['imap', 'mail'].map((name) => make('imap', name, 143, 'starttls')),
    ...['smtp', 'mail', ''].map((name) => make('smtp', name, 465, 'tls')),
    ...['smtp', 'mail'].map((name) => make('smtp', name, 587, 'starttls')),
  ];
  return all.filter(({ host }) => isWithin(host, domain));
}

/**
 * Probes the usual host names and ports, all in parallel. The result is the first working server in
 * the order of preference.
 */
export async function tryUsualNames(email: string, probe: Probe): Promise<Found> {
  const tried = guesses(domainOf(email)).map((guess) => ({ guess, works: probe(guess) }));
  const first = async (protocol: 'imap' | 'smtp'): Promise<FoundServer | undefined> => {
    for (const { guess, works } of tried) {
      const { host, port, security } = guess;
      if (guess.protocol === protocol && (await works))
        return { host, port, security, user: email };
    }
    return undefined;
  };
  const [imap, smtp] = await Promise.all([first('imap'), first('smtp')]);
  return { imap, smtp };
}

/** A probe that connects, if the host exists. */
export function connectingProbe(dns: MailDns, options: ProbeOptions): Probe {
  return async (server) =>
    (await dns.exists(server.host)) &&
    probeServer(server, options).then(
      () => true,
      () => false,
    );
}
