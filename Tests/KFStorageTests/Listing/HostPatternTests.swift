import Testing

@testable import KFStorage

@Suite("Host patterns")
struct HostPatternTests {
    @Test(
        "A host or its wildcard is a pattern",
        arguments: [
            "example.com", "EXAMPLE.com", "*.example.com", "*", "*:80", "h:8080", "[::1]", "[::1]:80", "::1",
            "2001:db8::1", "[fe80::1%25lo]:80", "[::ffff:1.2.3.4]", "127.0.0.1", "münchen.de", "local", "a_b",
            "example.com.",
        ])
    func taken(text: String) {
        #expect(HostPattern(text) != nil)
        #expect(HostPattern(text) == HostPattern(text.uppercased()))
    }

    @Test(
        "A malformed host is refused",
        arguments: [
            "", " ", "*.", "**", "a*", "*a", "a.*.b", "h:", "h:0", "h:65536", "h:-1", "h:+80", "h:٣", "[::1", "::1]",
            "[]", "[::1%lo]", "[::1%25]",
            "[x]", "[1]", "[::1]x", "[::1]:", "http://h", "h/", "u@h", "a b", "a\nb", "h?", "[a-z]",
        ])
    func refused(text: String) { #expect(HostPattern(text) == nil) }

    @Test("An address is the same in all of its spellings")
    func addresses() {
        #expect(HostPattern("127.1:80") == HostPattern("127.0.0.1:80"))
        for spelling in ["::1", "0::1", "[0:0:0:0:0:0:0:1]"] { #expect(HostPattern(spelling) == HostPattern("[::1]")) }
        #expect(HostPattern("*.1.2") != HostPattern("*.1.0.0.2"))
    }

    @Test("A host in Unicode is the same as its A-labels")
    func unicode() {
        #expect(HostPattern("M\u{dc}NCHEN.de:8080") == HostPattern("xn--mnchen-3ya.de:8080"))
        #expect(HostPattern("*.münchen.de") == HostPattern("*.xn--mnchen-3ya.de"))
    }

    @Test("Special characters of a literal text are escaped")
    func exact() {
        #expect(GlobText.exactly("a*b?c[d]") == "a[*]b[?]c[[]d]")
        #expect(GlobText.exactly("*\u{301}") == "[*]\u{301}")
    }
}
