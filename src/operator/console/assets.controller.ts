import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../platform/auth/access.decorators.ts';
import { CACHED_FOR_EVER } from '../../platform/pages/assets.ts';
import { ICON_FILE, SCRIPT_FILE, STYLES_FILE } from './kit/layout.ts';

/** The files that the console's pages load. */
@ApiExcludeController()
@Public()
@Controller('console/assets')
export class ConsoleAssetsController {
  @Get(STYLES_FILE.name)
  @Header('Content-Type', 'text/css; charset=utf-8')
  @Header('Cache-Control', CACHED_FOR_EVER)
  styles(): string {
    return STYLES_FILE.content;
  }

  @Get(SCRIPT_FILE.name)
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  @Header('Cache-Control', CACHED_FOR_EVER)
  script(): string {
    return SCRIPT_FILE.content;
  }

  @Get(ICON_FILE.name)
  @Header('Content-Type', 'image/svg+xml')
  @Header('Cache-Control', CACHED_FOR_EVER)
  icon(): string {
    return ICON_FILE.content;
  }
}
