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

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CRL_|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|EPROTO$)/;

/** Kinds by the codes of their errors, with what is said of them; the first that fits any code is taken. */
const KINDS: readonly [kind: EgressErrorKind, codes: RegExp, words: (code: string) => string][] = [
  ['blocked', /^ERR_IP_BLOCKED$/, () => 'the address is not a public one'],
  [
    'timeout',
    /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/,
    () => 'no connection in time',
  ],
  [
    'dns',
    /^(ENOTFOUND|EAI_(AGAIN|FAIL|NODATA|NONAME|ADDRFAMILY))$/,
    (code) => `the host name does not resolve (${code})`,
  ],
  ['tls', TLS_CODE, (code) => `no secure connection (${code})`],
  [
    'connect',
    /^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|HOSTDOWN|NETDOWN|ADDRNOTAVAIL|ACCES|PERM|INVAL)$/,
    (code) => `no connection (${code})`,
  ],
];

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
  for (const [kind, test, words] of KINDS) {
    const code = codes.find((one) => test.test(one));
    if (code !== undefined) return new EgressError(kind, words(code), { cause: error });
  }
  return new EgressError('protocol', `the connection broke (${codes[0] ?? 'unknown'})`, {
    cause: error,
  });
}
