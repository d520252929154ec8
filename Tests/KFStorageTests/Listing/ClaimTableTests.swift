import Support
import Testing

@testable import KFStorage

@Suite("The table of claimed names", .bounded)
struct ClaimTableTests {
    @Test("The first owner keeps a name")
    func first() {
        let table = ClaimTable(limit: 100)
        for name in 0..<UInt64(20_000) { #expect(table.claim(name, for: name + 7) == name + 7) }
        #expect(table.inMemory == 100)
        for name in stride(from: UInt64(0), to: 20_000, by: 37) {
            #expect(table.claim(name, for: .max) == name + 7)
        }
        #expect(table.claim(.max, for: 1) == 1 && table.claim(.max, for: 2) == 1)
    }
}
