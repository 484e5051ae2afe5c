/**
 * Why an outgoing request brought no answer.
 * `blocked`: the address is private or reserved and not allowed; `dns`: the name does not resolve; `connect`: no TCP
 * connection; `tls`: no secure connection, or a certificate that is not valid; `timeout`: connecting, or the exchange as
 * a whole, took too long; `protocol`: the connection broke, or what came is not HTTP.
 */
export type EgressErrorKind = 'blocked' | 'dns' | 'connect' | 'tls' | 'timeout' | 'protocol';

/**
 * An outgoing request brought no answer. `message` may be shown to the owner of the address: it never tells what a name
 * resolved to.
 */
export class EgressError extends Error {
  readonly kind: EgressErrorKind;

  constructor(kind: EgressErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EgressError';
    this.kind = kind;
  }
}

const DNS_CODES = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'EAI_ADDRFAMILY',
]);
const CONNECT_CODES = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'EINVAL',
]);
const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CRL_|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|EPROTO$)/;
const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** Codes of an error, of what caused it, and of each address that was tried (happy eyeballs). */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown; cause?: unknown };
  return [
    ...(typeof code === 'string' ? [code] : []),
    ...(Array.isArray(errors) ? errors.flatMap(codesOf) : []),
    ...codesOf(cause),
  ];
}

/** Any error of the transport as an `EgressError`. */
export function toEgressError(error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const codes = codesOf(error);
  const find = (test: (code: string) => boolean) => codes.find(test);
  const make = (kind: EgressErrorKind, message: string) => new EgressError(kind, message, { cause: error });
  if (codes.includes('ERR_IP_BLOCKED')) return make('blocked', 'the address is not a public one');
  if (find((code) => TIMEOUT_CODES.has(code))) return make('timeout', 'no connection in time');
  const dns = find((code) => DNS_CODES.has(code));
  if (dns) return make('dns', `the host name does not resolve (${dns})`);
  const tls = find((code) => TLS_CODE.test(code));
  if (tls) return make('tls', `no secure connection (${tls})`);
  const connect = find((code) => CONNECT_CODES.has(code));
  if (connect) return make('connect', `no connection (${connect})`);
  return make('protocol', `the connection broke (${codes[0] ?? 'unknown'})`);
}
