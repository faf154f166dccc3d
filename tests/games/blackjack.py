from gymnasium.envs.toy_text.blackjack import BlackjackEnv, draw_card


class Blackjack(BlackjackEnv):
    def redraw(self):
        self.dealer[1] = draw_card(self.np_random)
        return self._get_obs()
