package v1alpha1

// Labels of the objects. A label whose value is not valid (such as a user name with an "@") is
// omitted; field selectors match such values.
//
// For LabelPartition, LabelState and LabelNode the server matches more values than the printed
// one. A job that waits for "cpu,gpu" matches -l partition=cpu and -l partition=gpu. A node in
// the state IDLE+DRAIN matches state=drained, state=idle and state=drain. A job on several nodes
// matches each of them. The state is compared without regard to case.
const (
	// LabelCluster is the name of the Controller or Cluster.
	LabelCluster = "cluster"
	// LabelPartition is the job's or node's first partition, or the partition itself.
	LabelPartition = "partition"
	// LabelState is the base state of a job or partition ("PENDING", "UP") and the word
	// that sinfo shows for a node ("idle").
	LabelState = "state"
	// LabelUser and LabelAccount are the user and account of a job.
	LabelUser    = "user"
	LabelAccount = "account"
	// LabelNode is the name of a node, or the node of a job that has only one.
	LabelNode = "node"
	// PartitionPrefix followed by the name of a partition is the key of a label with the value
	// "true". A job or node has one such label for each of its partitions.
	PartitionPrefix = "partition.view.slinky.slurm.net/"
)

// Field selectors in addition to metadata.name and metadata.namespace. They accept any value,
// also one that is not a valid label value, and match like the label with the same meaning.
const (
	FieldCluster    = "spec.cluster.name"
	FieldPartition  = "spec.partition" // jobs and nodes: any of spec.partitions
	FieldState      = "status.state"
	FieldUser       = "spec.user"       // jobs
	FieldAccount    = "spec.account"    // jobs
	FieldNode       = "status.node"     // jobs: any of status.nodes
	FieldName       = "spec.name"       // nodes and partitions: Slurm's name; jobs: the job's name
	FieldJobID      = "spec.jobID"      // jobs
	FieldArrayJobID = "spec.arrayJobID" // jobs
)

// UserMe as the value of FieldUser selects the jobs of the user who sends the request.
const UserMe = "@me"

// AnnotationPrivateData on a Controller or Cluster is the value of PrivateData in that cluster's
// slurm.conf, such as "jobs,nodes", or "none". Administrators set it if the adapter cannot
// determine the value. It overrides the value that slurmctld reports.
const AnnotationPrivateData = "view.slinky.slurm.net/private-data"

// VerbViewAll on a resource of this group is the permission to see records that PrivateData
// hides. The resourceName is the name of the cluster's object.
const VerbViewAll = "viewall"
