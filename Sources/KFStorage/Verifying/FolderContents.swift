import Glibc
import KFSystem

struct FolderContents {
    private let objects: ObjectStore
    /// The folder's name: two hexadecimal digits.
    private let folder: String
    private let number: UInt8
    /// Whether another item than a directory is in the folder's place.
    private let isPlanted: Bool
    private let names: Set<String>

    init(_ objects: ObjectStore, _ number: UInt8) throws(StorageError) {
        self.objects = objects
        self.number = number
        folder = ObjectStore.folderName(number)
        do throws(StorageError) {
            names = try objects.names(inFolder: number)
            isPlanted = false
        } catch .system(_, _, let code) where [ENOENT, ELOOP, ENOTDIR].contains(code) {
            names = []
            isPlanted = code != ENOENT
        }
    }

    /// The rows of the folder's objects. A row is the first 64 bits of the hash, or one of the next places.
    var rows: ClosedRange<Int64> {
        let first = Int64(bitPattern: UInt64(number) << 56)
        return first...(first | 0xff_ffff_ffff_ffff).adding(saturating: EntryKey.probes)
    }

    /// Compares the files with the rows. Returns the suspects, and the rows whose files must be read.
    func compare(with rows: [ObjectRow]) -> (suspects: [Suspect], whole: [ObjectRow]) {
        var suspects: [Suspect] = []
        var whole: [ObjectRow] = []
        var strangers = names
        for row in rows where row.object.digest.prefix >> 56 == UInt64(number) {
            let suspect = Self.suspect(row, objects)
            if suspect?.kind != .brokenRow { strangers.remove(String(row.object.name.dropFirst(3))) }
            if let suspect { suspects.append(suspect) } else { whole.append(row) }
        }
        suspects += Self.strangers(strangers.map { "\(folder)/\($0)" } + (isPlanted ? [folder] : []), objects)
        return (suspects, whole)
    }

    /// Checks the status of an object's file without reading it. Returns nil if its bytes must be read.
    static func suspect(_ row: ObjectRow, _ objects: ObjectStore) -> Suspect? {
        let name = row.object.name
        guard row.isInPlace else { return Suspect(.brokenRow, name, row, "no lookup finds the object in its row") }
        guard let file = objects.status(named: name) else { return Suspect(missing: row) }
        if !file.isRegularFile { return Suspect(.notAFile, name, row, seen: file, "it is \(file.kind)") }
        guard file.st_size != row.object.size else { return nil }
        return Suspect(
            .wrongSize, name, row, seen: file, "it has \(file.st_size) bytes instead of \(row.object.size)")
    }

    /// Returns the items with these names, which no row refers to.
    static func strangers(_ names: [String], _ objects: ObjectStore) -> [Suspect] {
        names.compactMap { name in
            objects.status(named: name).map { file in
                file.isRegularFile
                    ? Suspect(.orphan, name, nil, seen: file, "no entry refers to this file (\(file.st_size) bytes)")
                    : Suspect(.notAFile, name, nil, seen: file, "it is \(file.kind)")
            }
        }
    }
}
