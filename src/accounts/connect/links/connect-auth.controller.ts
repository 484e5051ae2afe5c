import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationAuth, ApplicationId } from '../../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../../platform/http/endpoint.decorator.ts';
import { UnknownFields } from '../../../platform/http/names/unknown-names.guard.ts';
import type { ReportUnknown } from '../../../platform/wire/body-fields.ts';
import { toLoginInfoEnvelope } from '../connect.mapper.ts';
import {
  type HostedAuth,
  hostedAuthSchema,
  loginInfoEnvelope,
  toHostedRequest,
} from './hosted-sign-in.schema.ts';
import { LoginStartsService } from './login-starts.service.ts';

@ApiTags('connect')
@ApplicationAuth()
@Controller('connect/auth')
export class ConnectAuthController {
  constructor(private readonly starts: LoginStartsService) {}

  @Post()
  @Endpoint({
    summary: 'Create a sign-in link for a user',
    description:
      'The link works once and expires. In the end the browser is sent to `redirect_uri` with `success=true`, `grant_id`, `provider`, `email`, `state` and a `code` for /oauth/token, or with `success=false`, `error`, `error_description` and `state` (docs/hosted-sign-in.md).',
    response: loginInfoEnvelope,
  })
  async create(
    @ApplicationId() applicationId: string,
    @Body({ schema: hostedAuthSchema }) body: HostedAuth,
    @UnknownFields() report: ReportUnknown,
  ) {
    const asked = toHostedRequest(body);
    return toLoginInfoEnvelope(await this.starts.connect(applicationId, asked, report));
  }
}
