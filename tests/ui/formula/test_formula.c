/* Formulas of TeX as a line of readable Unicode: what each construct becomes, what stays as it is written. */
#include "tests/check.h"

#include "ui/formula/formula.h"
#include "ui/formula/names.h"

static const char *written(const char *tex, size_t n, bool display)
{
    static char out[1 << 14];
    struct buffer b = {0};
    buffer_append(&b, "|", 1, NULL);
    bool good = formula_write(tex, n, display, &b);
    snprintf(out, sizeof out, "%s", good ? b.bytes + 1 : b.n == 1 ? "as it is" : "a part was left");
    buffer_free(&b);
    return out;
}

static const char *formula(const char *tex)
{
    return written(tex, strlen(tex), true);
}

TEST(formulas)
{
    static const struct {
        const char *tex, *as;
    } rows[] = {
        {"x^2 + y^2 = z^2", "x² + y² = z²"},
        {"e^{i\\pi} + 1 = 0", "e^(iπ) + 1 = 0"},
        {"\\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}", "(-b ± √(b² - 4ac))/(2a)"},
        {"\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}", "∑ᵢ₌₁ⁿ i = n(n+1)/2"},
        {"\\int_0^\\infty e^{-x^2} \\, dx = \\frac{\\sqrt{\\pi}}{2}", "∫₀^∞ e^(-x²) dx = √π/2"},
        {"\\lim_{x \\to 0} \\frac{\\sin x}{x} = 1", "lim_(x→0) (sin x)/x = 1"},
        {"\\alpha\\beta + 2\\pi r", "αβ + 2πr"},
        {"a_{ij} x_{max} x_{n+1} T_{\\text{total}} v_b", "aᵢⱼ xₘₐₓ xₙ₊₁ Tₜₒₜₐₗ v_b"},
        {"\\frac{1}{2}mv^2", "(1/2)mv²"},
        {"x\\frac{1}{2}", "x(1/2)"},
        {"\\frac{dy}{dx} = \\frac{\\partial f}{\\partial x}", "dy/dx = ∂f/∂x"},
        {"\\sqrt[3]{x+1} \\sqrt{2} \\sqrt[n]{x}", "∛(x+1) √2 ⁿ√x"},
        {"\\mathbb{R}^n \\to \\mathbb R, \\mathcal{L}(x), \\mathfrak{g}", "ℝⁿ → ℝ, ℒ(x), 𝔤"},
        {"\\hat{x} \\bar{y} \\vec{v} \\overline{AB} \\dot{x} \\ddot x \\tilde{f}", "x̂ ȳ v⃗ A̅B̅ ẋ ẍ f̃"},
        {"\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}", "(1, 2; 3, 4)"},
        {"f(x) = \\begin{cases} x & \\text{if } x \\geq 0 \\\\ -x & \\text{otherwise} \\end{cases}",
         "f(x) = { x, if x ≥ 0; -x, otherwise }"},
        {"\\left( \\frac{a}{b} \\right)^n", "(a/b)ⁿ"},
        {"\\left\\{ x \\in \\mathbb{R} \\mid x > 0 \\right\\}", "{x ∈ ℝ | x > 0}"},
        {"A \\cup B \\subseteq C, a\\leq b \\neq c", "A ∪ B ⊆ C, a ≤ b ≠ c"},
        {"\\log_2 n, \\ln x, \\sin^2\\theta + \\cos^2\\theta = 1, \\sin(x), 2\\sin x\\cos y",
         "log₂ n, ln x, sin² θ + cos² θ = 1, sin(x), 2 sin x cos y"},
        {"n! = n \\cdot (n-1)!", "n! = n · (n-1)!"},
        {"\\binom{n}{k}", "C(n, k)"},
        {"\\nabla \\cdot \\mathbf{E} = \\frac{\\rho}{\\varepsilon_0}", "∇ · E = ρ/ε₀"},
        {"\\foo{\\alpha} x \\hspace{1em} y", "\\foo{α} x \\hspace{1em} y"},
        {"\\begin{aligned} a &= b + c \\\\ &= d \\\\ \\end{aligned}", "a = b + c\n= d"},
        {"x \\equiv y \\pmod{n}, a \\bmod b", "x ≡ y (mod n), a mod b"},
        {"f'(x), f''(x), x'^2", "f′(x), f″(x), x′²"},
        {"\\not= \\not\\in \\notin", "≠ ∉ ∉"},
        {"\\boxed{42}", "[42]"},
        {"P(A|B) = \\frac{P(B|A)P(A)}{P(B)}", "P(A|B) = P(B|A)P(A)/P(B)"},
        {"\\frac{a}{b}", "a/b"},
        {"\\frac{a+b}{c-d}^2", "((a+b)/(c-d))²"},
        {"{}^{14}C, 90^\\circ, x^*", "¹⁴C, 90°, x*"},
        {"\\underbrace{a+b}_{n}, \\overset{!}{=}", "(a+b)ₙ, =^!"},
        {"\\forall x \\in S \\; \\exists y", "∀x ∈ S ∃y"},
        {"\\mathrm{d}x, \\operatorname{rank} A, \\operatorname*{argmax}_x f", "dx, rank A, argmaxₓ f"},
        {"\\max_{x} f(x), \\max_{i \\in I} x_i", "maxₓ f(x), max_(i∈I) xᵢ"},
        {"\\left. x \\right|_{0}", "x|₀"},
        {"\\text{a $x$ b}", "a $x$ b"},
        {"O(n \\log n)", "O(n log n)"},
        {"\\frac12", "1/2"},
        {"\\hat{\\imath} \\times \\hat{\\jmath}", "ı̂ × ȷ̂"},
        {"100\\% \\$5 \\{a\\} \\_ \\&", "100% $5 {a} _ &"},
        {"\\prod_{k=1}^n k, \\iint_D f", "∏ₖ₌₁ⁿ k, ∬_D f"},
        {"\\|x\\|_2 \\langle x, y\\rangle", "‖x‖₂ ⟨x, y⟩"},
        {"E = mc^2", "E = mc²"},
        {"\\frac{\\frac{a}{b}}{c}", "(a/b)/c"},
        {"\\frac{x^2}{2!}", "x²/(2!)"},
        {"\\vec{AB} \\cdot \\vec{CD}", "A⃗B⃗ · C⃗D⃗"},
        {"\\overrightarrow{AB}", "A⃗B⃗"},
        {"H_2O, x_1, x_{12}", "H₂O, x₁, x₁₂"},
        {"2^{10}, 10^{-3}, 10^{3.5}", "2¹⁰, 10⁻³, 10^(3.5)"},
        {"x^{y^z}", "x^(yᶻ)"},
        {"\\boldsymbol{\\theta} \\mathbf{x}^T", "θ xᵀ"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) CHECK_STR(rows[i].as, formula(rows[i].tex));
    CHECK_STR("a = b + c; = d", written("\\begin{aligned} a &= b + c \\\\ &= d \\end{aligned}", 49, false));
}

TEST(what_stays_as_it_is)
{
    static const char *const texts[] = {"a{b",
                                        "a}b",
                                        "\\begin{foo}a\\end{foo}",
                                        "\\begin{matrix}a\\end{array}",
                                        "\\begin{matrix}a",
                                        "\\end{matrix}",
                                        "x^",
                                        "x^^2",
                                        "\\frac{1}",
                                        "\\sqrt[3",
                                        "",
                                        "  ",
                                        "\\text{a",
                                        "{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CHECK_STR("as it is", formula(texts[i]));
    CHECK_STR("\\foo{\u03B1}{b} \\bla x",
              formula("\\foo{\\alpha}{b} \\bla x")); /* of what is not known nothing is lost */
    char deep[4001] = "";
    for (int i = 0; i < 1000; i++) strcat(deep, "{x^{");
    CHECK_STR("as it is", formula(deep));
}

/* Each name is found, so the table is in order. */
TEST(names_are_found)
{
    static const char *const known[] = {" ",   "!",    "|",  "}",   "AA", "Xi",  "alpha",
                                        "big", "frac", "in", "int", "xi", "zeta"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!formula_name(known[i], strlen(known[i]))) CHECK_FAIL("%s", known[i]);
    CHECK(!formula_name("alph", 4) && !formula_name("alphaa", 6) && !formula_name("~", 1));
}

/* Any text ends, within bounds, and costs memory in proportion. */
TEST(any_text)
{
    static const char *const parts[] = {
        "\\frac",       "{",     "}",    "^",         "_", "x",      "\\left(", "\\right", "\\begin{cases}",
        "\\end{cases}", "&",     "\\\\", "\\sqrt[",   "]", " ",      "\\hat",   "\\text{", "\\mathbb",
        "\xff",         "\\not", "\\",   "\\overset", "'", "\u03B1", "\\sum"};
    unsigned seed = 5;
    for (int round = 0; round < 20000; round++) {
        char tex[400] = "";
        for (int i = 0, n = round % 24; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            strcat(tex, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
        }
        if (strlen(formula(tex)) > 40 * strlen(tex) + 20) CHECK_FAIL("%s became %s", tex, formula(tex));
    }
}

TEST_MAIN(T(formulas), T(what_stays_as_it_is), T(names_are_found), T(any_text))
