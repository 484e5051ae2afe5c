import { isIP } from 'node:net';
import type { EgressClient } from '../../../platform/egress/egress-client.ts';
import type { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import { monotonicMs } from '../../../platform/base/time/clock.ts';
import {
  type DiscoveredMail,
  type KnownMailProvider,
  type MailCandidate,
  MailDiscovery,
} from '../../port/sign-in/mail-discovery.ts';
import {
  domainOf,
  knownOf,
  presetOfDomain,
  presetOfExchanger,
  presetOfHost,
  serversOf,
} from '../servers/imap-presets.ts';
import { askAutoconfig, AUTOCONFIG_LOCATIONS } from './autoconfig.ts';
import {
  type Found,
  type FoundServer,
  isHostName,
  isShared,
  isWithin,
  NOTHING,
  toServers,
} from './found.ts';
import type { HttpsGet } from './https-document.ts';
import { type MailDns, SystemMailDns } from './mail-dns.ts';
import { askDav, askServices } from './services.ts';
import { connectingProbe, tryUsualNames } from './usual-names.ts';

/** Options of discovery. The defaults are for production. */
export interface DiscoveryOptions {
  dns?: MailDns;
  /** https URLs of autoconfig documents, see `AUTOCONFIG_LOCATIONS`. */
  places?: readonly string[];
  /** Base URL of an ISPDB, without a trailing slash. `null` (default): no ISPDB is used. */
  ispdbUrl?: string | null;
  /** Certificate authorities to trust instead of the system's (PEM), for servers at usual names. */
  ca?: string;
  /** Time limit for the whole discovery, in milliseconds. Default 10000. */
  limitMs?: number;
}

const LIMIT_MS = 10_000;
/** Time limit for probing one server at a usual name. */
const PROBE_MS = 5_000;
const KEPT_MS = 5 * 60_000;
/** An empty result is kept for a shorter time, because the domain may be set up soon. */
const KEPT_EMPTY_MS = 30_000;
const MOST_KEPT = 1_000;

const NOT_FOUND: DiscoveredMail = Object.freeze({ known: null, candidates: [] });

/**
 * Finds the servers of an address. First uses Carillon's table, by the domain or its mail
 * exchanger. Otherwise it reads Thunderbird's configuration files and SRV records and tries usual
 * names, all in parallel. Results are ordered by trustworthiness. All connections pass the egress
 * guard. Results are kept for a few minutes.
 */
export class ImapDiscovery extends MailDiscovery {
  readonly #dns: MailDns;
  readonly #kept = new Map<string, { until: number; answer: Promise<DiscoveredMail> }>();

  constructor(
    private readonly policy: EgressPolicy,
    private readonly egress: EgressClient,
    private readonly options: DiscoveryOptions = {},
  ) {
    super();
    this.#dns = options.dns ?? new SystemMailDns();
  }

  known(email: string): KnownMailProvider | null {
    const preset = presetOfDomain(domainOf(email));
    return preset ? knownOf(preset) : null;
  }

  discover(email: string): Promise<DiscoveredMail> {
    const domain = domainOf(email);
    const preset = presetOfDomain(domain);
    if (preset) {
      const servers = serversOf(preset, email);
      return Promise.resolve({
        known: knownOf(preset),
        candidates: [{ source: 'preset', servers, confirm: false }],
      });
    }
    if (!isHostName(domain) || !domain.includes('.') || isIP(domain))
      return Promise.resolve(NOT_FOUND);
    const kept = this.#kept.get(email);
    if (kept && kept.until > monotonicMs()) return kept.answer;
    const answer = this.#ask(email, domain);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const entry = { until: monotonicMs() + KEPT_MS, answer };
    this.#kept.set(email, entry);
    void answer.then(({ candidates }) => {
      if (candidates.length === 0) entry.until = monotonicMs() + KEPT_EMPTY_MS;
    });
    return answer;
  }

  async #ask(email: string, domain: string): Promise<DiscoveredMail> {
    const limitMs = this.options.limitMs ?? LIMIT_MS;
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(new Error('discovery took too long')), limitMs);
    try {
      return await this.#compare(email, domain, end.signal, limitMs);
    } finally {
      clearTimeout(timer);
      end.abort(new Error('discovery has ended'));
    }
  }

  async #compare(
    email: string,
    domain: string,
    signal: AbortSignal,
    limitMs: number,
  ): Promise<DiscoveredMail> {
    const get: HttpsGet = (url, options) =>
      this.egress.get(url, { ...options, signal, deadlineMs: limitMs });
    const inTime = <T>(what: Promise<T>, otherwise: T) => settle(what, otherwise, signal);
    const exchangers = await inTime(this.#dns.exchangers(domain), []);
    const preset = exchangers.map(presetOfExchanger).find((one) => one !== undefined);
    if (preset) {
      const servers = serversOf(preset, email);
      return { known: knownOf(preset), candidates: [{ source: 'mx', servers, confirm: false }] };
    }
    const getExisting: HttpsGet = async (url, options) => {
      if (await this.#dns.exists(new URL(url).hostname)) return get(url, options);
      throw new Error('the host does not exist');
    };
    const ask = (location: string, by = getExisting) =>
      inTime(askAutoconfig(location, email, by), NOTHING);
    const places = (this.options.places ?? AUTOCONFIG_LOCATIONS).filter(
      (location) => !isShared(domain) || !location.includes('.{domain}'),
    );
    const documents = Promise.all(places.map((location) => ask(location)));
    const services = inTime(askServices(email, this.#dns), NOTHING);
    const ispdb = this.options.ispdbUrl ? ask(`${this.options.ispdbUrl}/{domain}`, get) : NOTHING;
    const dav = inTime(askDav(email, this.#dns, getExisting), NOTHING);
    const probe = connectingProbe(this.#dns, {
      policy: this.policy,
      limitMs: Math.min(PROBE_MS, limitMs),
      signal,
      ...(this.options.ca ? { ca: this.options.ca } : {}),
    });
    const usual = inTime(tryUsualNames(email, probe), NOTHING);

    const isComplete = (found: Found) => toServers(found) !== undefined;
    const [files, records, database] = await Promise.all([documents, services, ispdb]);
    const named = [...files, records, database].some(isComplete);
    // Guesses are not waited for if another source named the servers.
    const guessed = named ? NOTHING : await usual;
    const extra = await dav;
    const candidates = [
      ...files.flatMap((found) => candidate('autoconfig', found, extra)),
      ...candidate(
        'srv',
        isComplete(records) ? records : completed(records, guessed),
        extra,
        domain,
      ),
      ...candidate('ispdb', database, extra),
      ...candidate('guess', guessed, extra),
    ];
    return { known: null, candidates };
  }
}

/** Combines an SRV record for one of the two servers with the usual name for the other. */
function completed(records: Found, guessed: Found): Found {
  if (!records.imap && !records.smtp) return NOTHING;
  return { imap: records.imap ?? guessed.imap, smtp: records.smtp ?? guessed.smtp };
}

/** @param domain if given, servers outside this domain must be confirmed by the user */
function candidate(
  source: MailCandidate['source'],
  found: Found,
  dav: Found,
  domain?: string,
): MailCandidate[] {
  const servers = toServers({
    ...found,
    caldavUrl: found.caldavUrl ?? dav.caldavUrl,
    carddavUrl: found.carddavUrl ?? dav.carddavUrl,
  });
  if (!servers) return [];
  const outside = (server: FoundServer | undefined) =>
    domain !== undefined &&
    server !== undefined &&
    !isWithin(server.host, domain) &&
    !presetOfHost(server.host);
  return [{ source, servers, confirm: outside(found.imap) || outside(found.smtp) }];
}

/** Resolves to `otherwise` if the result does not arrive before the abort. */
function settle<T>(what: Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
  return new Promise((resolve) => {
    const onAbort = () => resolve(otherwise);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    // A source that fails counts as one that found nothing.
    void what.then(resolve, onAbort).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
