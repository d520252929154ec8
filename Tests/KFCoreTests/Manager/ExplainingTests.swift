import Support
import Testing

@testable import KFCore

@Suite("Explanations of what is cached", .bounded)
struct ExplainingTests {
    private let fixture: ManagerFixture
    private let url: RequestURL

    init() throws {
        let body = try ManagerFixture.fixture("png/rgba.png")
        fixture = try ManagerFixture(transport: ScriptedTransport(.init(body: body)))
        url = try RequestURL("http://h/a.png")
    }

    @Test("The reasons tell an image from its original")
    func reasons() async throws {
        let options = try ManagerFixture.resized()
        let before = try await fixture.manager.explain(.network(url), options: options).plan
        #expect(before.step == .request)
        #expect(before.reasons == ["the image is not cached", "its original is not cached"])
        _ = try await fixture.get()
        let after = try await fixture.manager.explain(.network(url), options: options).plan
        #expect(after.step == .derive)
        #expect(after.reasons == ["the image is not cached", "its original is cached and fresh"])
    }

    @Test("An entry names its URL unless its key is that", arguments: [nil, "mine"])
    func named(_ key: String?) async throws {
        let source = Source.network(ImageResource(downloadURL: url, cacheKey: key))
        _ = try await fixture.manager.retrieveImage(with: source, options: ManagerFixture.options())
        let entries = try await fixture.manager.explain(source).entries
        #expect(entries.map(\.url) == [key == nil ? nil : url.text])
    }
}
