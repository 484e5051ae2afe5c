import { Body, Controller, Headers, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../../platform/auth/access.decorators.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { UnknownFields } from '../../platform/http/names/unknown-names.guard.ts';
import type { ReportUnknown } from '../../platform/wire/body-fields.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { toConnectedAccountView, toDetectedProviderView } from './connect.mapper.ts';
import {
  type Authorize,
  authorizeSchema,
  codeView,
  connectedAccountView,
  type DetectProviderBody,
  detectProviderSchema,
  detectedProviderView,
  type ExchangeCode,
  exchangeCodeSchema,
  toNativeRequest,
} from './connect.schema.ts';
import { ConnectService } from './connect.service.ts';

/** Credentials are in the body. An Authorization header is ignored. */
@ApiTags('connect')
@Public()
@ApiErrors(400, 401, 429)
@Controller('connect')
export class ConnectController {
  constructor(
    private readonly connect: ConnectService,
    private readonly connectors: ConnectorRegistry,
  ) {}

  @Post('authorize')
  @ApiErrors(429)
  @Endpoint({
    summary: 'Authenticate an account with its credentials',
    description:
      'The provider verifies the credentials at once. The account is connected only when the code is exchanged at /connect/token. Without `client_secret`, errors do not say why a server could not be used, and wrong passwords are limited per client. Besides `sandbox` and `imap`, these providers are accepted: gmail, yahoo, icloud, aol, hotmail, outlook and office365 (settings: `password`; they become accounts of `imap`), the same names with tokens or keys of Google and Microsoft (docs/oauth.md), exchange if the server has IMAP, and `nylas`, a virtual calendar without a provider (scope `calendar` only).',
    response: codeView,
  })
  async authorize(
    @Body({ schema: authorizeSchema }) body: Authorize,
    @Headers('user-agent') userAgent: string | undefined,
    @ClientAddress() client: string,
    @UnknownFields() report: ReportUnknown,
  ) {
    const native = toNativeRequest(body, { client, userAgent });
    return { code: await this.connect.authorize(native, report) };
  }

  @Post('token')
  @ApiErrors(403)
  @Endpoint({
    summary: 'Exchange a code for a connected account and its access token',
    response: connectedAccountView,
  })
  async token(
    @Body({ schema: exchangeCodeSchema }) { client_id, client_secret, code }: ExchangeCode,
    @ClientAddress() client: string,
  ) {
    const caller = { clientId: client_id, clientSecret: client_secret, client };
    return toConnectedAccountView(await this.connect.exchange(caller, code), this.connectors);
  }

  @Post('detect-provider')
  @Endpoint({
    summary: 'Find the provider of an address',
    description:
      'Well-known domains get a response at once. For other domains Carillon asks DNS, configuration files of the domain and usual host names, for at most ten seconds. `imap` means that mail servers were found.',
    response: detectedProviderView,
  })
  async detect(
    @Body({ schema: detectProviderSchema }) body: DetectProviderBody,
    @ClientAddress() client: string,
  ) {
    const { client_id, client_secret, email_address } = body;
    return toDetectedProviderView(
      email_address,
      await this.connect.detect(
        { clientId: client_id, clientSecret: client_secret, client },
        email_address,
      ),
    );
  }
}
