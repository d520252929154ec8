import Testing

@testable import KFImaging

@Suite("A misspelt name is guessed")
struct NearestNameTests {
    private let names = ["fetch", "format", "output", "jpeg", "resize", "round-corner", "blur"]

    @Test(arguments: [
        ("fetc", "fetch"), ("ftech", "fetch"), ("fromat", "format"), ("ouptut", "output"), ("jpgg", "jpeg"),
        ("rezise", "resize"), ("roundcorner", "round-corner"), ("blru", "blur"),
    ])
    func near(_ word: String, _ name: String) { #expect(NearestName.to(word, in: names) == name) }

    @Test(
        "A third of the letters may differ, one in a short word, and none in a word above 64 bytes",
        arguments: [
            "wobble", "bl", "rsz", String(repeating: "f", count: 65),
        ])
    func far(_ word: String) { #expect(NearestName.to(word, in: names) == nil) }

    @Test func withoutNames() { #expect(NearestName.to("fetch", in: []) == nil) }
}
