import Support
import Synchronization

@testable import KFNetwork

/// Gathers the transfers that have ended, and decides for gates as a test says.
final class CollectingReceiver: TransferReceiver {
    final class Name: Sendable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    private let calls = Mutex<[[EndedTransfer]]>([])
    private let questions = Mutex<[Int]>([])
    private let decision: (@Sendable (Int) -> [Bool]?)

    /// `decision` gets the number of gates; nil gives no answer.
    init(_ decision: @escaping @Sendable (Int) -> [Bool]? = { Array(repeating: true, count: $0) }) {
        self.decision = decision
    }

    func ended(_ transfers: [EndedTransfer]) { calls.withLock { $0.append(transfers) } }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        questions.withLock { $0.append(gates.count) }
        guard let decided = decision(gates.count) else { return }
        Task { answer(decided) }
    }

    /// How many gates each question was about.
    var asked: [Int] { questions.withLock { $0 } }
    /// How many transfers each call told of.
    var told: [Int] { calls.withLock { $0.map(\.count) } }

    /// Waits until so many transfers have ended. Their errors by name; nil for a response.
    func ends(_ count: Int) async -> [String: TransferError?] {
        _ = await eventually { told.reduce(0, +) >= count }
        var ends: [String: TransferError?] = [:]
        for transfer in calls.withLock({ $0.joined() }) {
            guard let name = transfer.token as? Name else { continue }
            if case .failure(let error) = transfer.result {
                ends.updateValue(error, forKey: name.text)
            } else {
                ends.updateValue(nil, forKey: name.text)
            }
        }
        return ends
    }

    func start(
        _ name: String, _ url: String, sink: CollectingSink = CollectingSink(), delay: Duration? = nil,
        _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) -> TransferStart {
        var request = TransferRequest(url: url)
        request.options.timeout = .seconds(10)
        request.options.proxy = ""
        adjust(&request)
        return TransferStart(request, sink: sink, receiver: self, token: Name(name), delay: delay)
    }
}

/// Says what it is told to, in order, and then lets everything pass.
final class ScriptedGate: TransferGate {
    private let answers: Mutex<[TransferAdmission]>
    private let isEndless: Bool
    private let admission: Bool
    private let events = Mutex<[String]>([])

    /// `repeats`: the only answer is given again and again.
    init(_ answers: [TransferAdmission] = [], repeats: Bool = false, admits admission: Bool = true) {
        self.answers = Mutex(answers)
        self.isEndless = repeats
        self.admission = admission
    }

    func enter() -> TransferAdmission {
        events.withLock { $0.append("enter") }
        return answers.withLock { answers in
            if isEndless { return answers[0] }
            return answers.isEmpty ? .open : answers.removeFirst()
        }
    }

    func admits() -> Bool {
        events.withLock { $0.append("asked") }
        return admission
    }

    func leave() { events.withLock { $0.append("leave") } }

    var seen: [String] { events.withLock { $0 } }
}
