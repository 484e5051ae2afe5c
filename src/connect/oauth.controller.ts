import { Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type DoneView, doneView } from '../accounts/accounts.schema.ts';
import { AccountAuth } from '../auth/access.decorators.ts';
import { PresentedToken } from '../auth/presented-token.ts';
import { AccessTokens } from '../grants/access-tokens.service.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';

@ApiTags('connect')
@AccountAuth({})
@Controller('oauth')
export class OauthController {
  constructor(private readonly tokens: AccessTokens) {}

  @Post('revoke')
  @Endpoint({ summary: 'Revoke the access token of this request', response: doneView })
  async revoke(@PresentedToken() token: string): Promise<DoneView> {
    await this.tokens.revoke(token);
    return { success: 'true' };
  }
}
