import { createHash, type X509Certificate } from 'node:crypto';
import type { Directory, StubApp } from '../directory/directory.ts';
import type { Json, StubRequest } from '../http/types.ts';
import { isSignedBy, readJwt } from './jwt.ts';
import { entraErrors } from './oauth-error.ts';

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * The application that a token request comes from, after its secret or its signed assertion was
 * checked.
 * @param audiences values of `aud` that an assertion may have
 * @throws {EntraError} invalid_client or unauthorized_client
 */
export function authenticateClient(
  directory: Directory,
  request: StubRequest,
  form: URLSearchParams,
  audiences: string[],
  now: number,
): StubApp {
  const basic = basicCredentials(request.headers.authorization);
  const assertion = form.get('client_assertion');
  const claimed = assertion === null ? null : readJwt(assertion);
  const clientId = basic?.id ?? form.get('client_id') ?? textOf(claimed?.claims['sub']);
  if (clientId === null) throw entraErrors.missing('client_id');
  const app = directory.apps.get(clientId);
  if (!app) throw entraErrors.unknownClient(clientId);
  if (assertion !== null) {
    if (form.get('client_assertion_type') !== ASSERTION_TYPE) {
      throw entraErrors.missing('client_assertion_type');
    }
    checkAssertion(app, assertion, audiences, now);
    return app;
  }
  const secret = basic?.secret ?? form.get('client_secret');
  if (secret === null) {
    if (app.isPublic) return app;
    throw entraErrors.missingSecret();
  }
  if (!app.secrets.has(secret)) throw entraErrors.wrongSecret(clientId);
  return app;
}

function checkAssertion(app: StubApp, assertion: string, audiences: string[], now: number): void {
  const jwt = readJwt(assertion);
  if (!jwt) throw entraErrors.badAssertion('Client assertion is not a well-formed JWT.', 50027);
  const { header, claims } = jwt;
  const certificate = app.certificates.find((candidate) => isNamed(candidate, header));
  if (!certificate) {
    throw entraErrors.badAssertion(
      'The certificate with identifier used to sign the client assertion is not registered on application.',
    );
  }
  if (!isSignedBy(assertion, certificate.publicKey)) {
    throw entraErrors.badAssertion('Client assertion failed signature validation.');
  }
  if (claims['iss'] !== app.clientId || claims['sub'] !== app.clientId) {
    throw entraErrors.badAssertion(
      "Client assertion must name the application in 'iss' and 'sub'.",
      700021,
    );
  }
  const audience = [claims['aud']].flat();
  if (!audience.some((value) => audiences.includes(String(value)))) {
    throw entraErrors.badAssertion(
      'Client assertion audience claim does not match Realm issuer.',
      700023,
    );
  }
  const seconds = now / 1_000;
  // Entra allows clocks that differ by up to five minutes.
  const expires = Number(claims['exp']);
  const begins = Number(claims['nbf'] ?? 0);
  if (!(expires > seconds - 300) || begins > seconds + 300) {
    throw entraErrors.badAssertion('Client assertion is not within its valid time range.', 700024);
  }
}

/** Whether the header of an assertion names the certificate by its thumbprint. */
function isNamed(certificate: X509Certificate, header: Json): boolean {
  const thumbprint = (hash: string) => createHash(hash).update(certificate.raw).digest('base64url');
  return header['x5t'] === thumbprint('sha1') || header['x5t#S256'] === thumbprint('sha256');
}

function basicCredentials(header: string | undefined): { id: string; secret: string } | null {
  const encoded = /^Basic (.+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return null;
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { id: decodeURIComponent(id), secret: decodeURIComponent(secret) };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
