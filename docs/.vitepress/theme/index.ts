/** VitePress's own theme, with a few rules of style, and below each page the file that it is made of. */
import { useData } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import './style.css'

/** In place of a link to edit it, while the repository has no address. */
function SourceFile() {
  const { page, theme } = useData()
  if (theme.value.editLink) return undefined
  const file = `docs/${page.value.filePath}`
  return h('p', { class: 'source-file' }, ['To edit this page, change ', h('code', file), ' in the repository.'])
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-footer-before': () => h(SourceFile) }),
}
