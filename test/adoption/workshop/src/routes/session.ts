import Router from '@koa/router';
import passport, { requireUser } from '../auth';
import { User } from '../models/user';

const router = new Router({ prefix: '/api/session' });

const show = ({ id, email, isAdmin }: User) => ({ id, email, isAdmin });

router.post('/', async (ctx, next) =>
  passport.authenticate('local', async (err: Error | null, user: User | false) => {
    if (err) throw err;
    if (!user) ctx.throw(401, 'Wrong email or password');
    await ctx.login(user);
    ctx.body = show(user as User);
  })(ctx, next),
);

router.get('/', requireUser, async (ctx) => {
  ctx.body = show(ctx.state.user);
});

router.delete('/', requireUser, async (ctx) => {
  ctx.logout();
  ctx.status = 204;
});

export default router;
