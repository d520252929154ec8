import Testing

@testable import KFImaging

@Suite("Suggestions for misspelt names")
struct NearestNameTests {
    private let names = ["fetch", "format", "output", "jpeg", "resize", "round-corner", "blur"]

    @Test(
        "A misspelt name suggests the right one",
        arguments: [
            ("fetc", "fetch"), ("ftech", "fetch"), ("fromat", "format"), ("ouptut", "output"), ("jpgg", "jpeg"),
            ("rezise", "resize"), ("roundcorner", "round-corner"), ("blru", "blur"),
        ])
    func near(_ word: String, _ name: String) { #expect(NearestName.to(word, in: names) == name) }

    @Test(
        "A very different name suggests no other",
        arguments: [
            "wobble", "bl", "rsz", String(repeating: "f", count: 65),
        ])
    func far(_ word: String) { #expect(NearestName.to(word, in: names) == nil) }

    @Test("An empty list suggests no name") func empty() { #expect(NearestName.to("fetch", in: []) == nil) }
}
