import KFTerms
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Stages of a job")
struct StageTests {
    private enum Name: String, CaseIterable { case looking, split, fetching, making, storing, ended }

    private func stage(_ name: Name) throws -> Stage {
        let source = Source.network(try RequestURL("http://h/a.png"))
        let retrieval = Retrieval(source, KingfisherOptions(), ImageCache(ImageCache.Configuration(directory: nil)))
        let ending = ImageEnding(
            retrieval, asked: retrieval, .fetched, .unmade, of: try Body(of: .memory([])))
        return switch name {
        case .looking: .looking
        case .split: .split(Split(2))
        case .fetching: .fetching(Asking())
        case .making: .making(Draft(ending))
        case .storing: .storing(Draft(ending))
        case .ended: .ended
        }
    }

    /// The stages that may follow each stage. Every other one is a mistake of the program, which debug builds assert.
    private static let following: [Name: Set<Name>] = [
        .looking: [.looking, .split, .fetching, .making, .ended],
        .split: [.ended],
        .fetching: [.looking, .split, .fetching, .making, .storing, .ended],
        .making: [.looking, .fetching, .making, .storing, .ended],
        .storing: [.fetching, .making, .ended],
        .ended: [],
    ]

    @Test("Each stage leads only to its successors")
    func transitions() throws {
        for name in Name.allCases {
            let stage = try stage(name)
            let following = try Name.allCases.filter { stage.leads(to: try self.stage($0)) }
            #expect(Set(following) == Self.following[name], "\(name)")
        }
    }

    @Test("A cancelled job enters only the storing stage")
    func cancelled() throws {
        let fixture = try ManagerFixture()
        let source = Source.network(try RequestURL("http://h/a.png"))
        let retrieval = Retrieval(source, OptionsBox(ManagerFixture.options()), fixture.manager.cache)
        let job = ImageJob(fixture.manager, retrieval, for: EndedImages())
        #expect(job.enter(.fetching(Asking(commits: 3))))
        #expect(job.asking.commits == 3)
        job.cancel()
        for name in Name.allCases where name != .storing { #expect(!job.enter(try stage(name)), "\(name)") }
        #expect(job.enter(try stage(.storing)))
        let other = ImageJob.End.failure(.responseError(reason: .noURLResponse))
        #expect(!job.deliver(other), "its recipient has been told of the cancellation")
        guard case .ended = job.stage else {
            Issue.record("it has not ended")
            return
        }
    }
}
